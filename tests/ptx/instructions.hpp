#pragma once

#include <string>

#include "tests/ptx/module.hpp"

namespace ulpscope::test::ptx {

/// What an instruction with this name does ("add.s64"), without the suffixes for memory and
/// vectors; null if it is unknown.
[[nodiscard]] Next (*find_instruction(const std::string& name))(Thread&, const Instruction&);

}  // namespace ulpscope::test::ptx
