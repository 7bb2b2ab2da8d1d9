#pragma once

#include <string_view>

#include "tests/ptx/machine.hpp"

/// What programs may use of the runtime beside this file that CUDA's does not offer.
namespace ulpscope::test::ptx {

/// Executes the kernels; the memory that it knows is what cudaMalloc() and similar functions have
/// returned.
[[nodiscard]] Machine& machine();

/// From the program, by a part of its name.
///
/// @throws std::out_of_range if there is none.
[[nodiscard]] const Kernel& find_kernel(std::string_view part_of_name);

}  // namespace ulpscope::test::ptx
