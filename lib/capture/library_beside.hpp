#pragma once

namespace ulpscope::capture {

/// A function of a library beside this one, which stays open; null if there is none or if what it
/// needs is missing.
[[nodiscard]] void* function_beside(const char* library, const char* function) noexcept;

}  // namespace ulpscope::capture
