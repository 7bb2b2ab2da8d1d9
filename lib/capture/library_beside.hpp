#pragma once

namespace ulpscope::capture {

/// A function of a library that lies beside this one, which stays open; null if there is none or
/// where what it needs is missing.
[[nodiscard]] void* function_beside(const char* library, const char* function) noexcept;

}  // namespace ulpscope::capture
