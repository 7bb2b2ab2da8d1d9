#pragma once

#include <memory>
#include <span>
#include <string>

#include "tensors/source.hpp"

namespace ulpscope::tensors {

/// Bytes that a reader has taken from its file already.
[[nodiscard]] std::shared_ptr<const Source> memory_source(std::string bytes);

}  // namespace ulpscope::tensors
