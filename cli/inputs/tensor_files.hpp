#pragma once

#include <string>

#include "ulpscope/compare_tensors.hpp"

namespace ulpscope::cli {

/// Whether an argument is a file, or a directory of `.npy` files, rather than a dump or a part of
/// one.
[[nodiscard]] bool names_tensors(const std::string& argument);

/// @throws Error unless both are files of tensors, or look like such: a dump has no tensors that go
/// by name alone.
void require_tensors(const std::string& reference, const std::string& candidate);

/// "NCHW=NHWC", or "conv*:OIHW=HWIO" for some tensors only.
[[nodiscard]] LayoutChange parse_layout(const std::string& source, const std::string& value);

}  // namespace ulpscope::cli
