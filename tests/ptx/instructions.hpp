#pragma once

#include <string>

#include "tests/ptx/module.hpp"

namespace ulpscope::test::ptx {

/// What an instruction with this name does ("add.s64"), without what tells memory and vectors; null
/// where it is not known.
[[nodiscard]] Next (*find_instruction(const std::string& name))(Thread&, const Instruction&);

}  // namespace ulpscope::test::ptx
