#pragma once

#include <string>

namespace ulpscope {

/// A function's source name from its linker name; any other name unchanged.
[[nodiscard]] std::string demangled(const std::string& name);

}  // namespace ulpscope
