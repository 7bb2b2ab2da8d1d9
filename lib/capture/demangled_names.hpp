#pragma once

#include <string_view>

namespace ulpscope::capture {

/// What keep_demangled() was last told of a mangled name, null if that is not known. Takes no lock;
/// the text lives as long as the process.
[[nodiscard]] const char* known_demangled(std::string_view mangled) noexcept;

/// Remembers what a mangled name means.
void keep_demangled(std::string_view mangled, std::string_view name);

}  // namespace ulpscope::capture
