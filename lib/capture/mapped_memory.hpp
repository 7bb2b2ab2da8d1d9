#pragma once

#include <cstddef>

namespace ulpscope::capture {

/// Whether all of these bytes can be read. False as well where the system does not say.
[[nodiscard]] bool is_mapped(const void* begin, std::size_t bytes) noexcept;

}  // namespace ulpscope::capture
