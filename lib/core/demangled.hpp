#pragma once

#include <string>

namespace ulpscope {

/// A function's name as the program has it, of the one that the linker has; any other name as it
/// is.
[[nodiscard]] std::string demangled(const std::string& name);

}  // namespace ulpscope
