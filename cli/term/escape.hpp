#pragma once

#include <string>
#include <string_view>

namespace ulpscope::cli {

/// `text` made safe for a terminal and for XML: bytes that control a terminal (control characters,
/// bidirectional marks), that are no characters or not UTF-8 become \xNN.
[[nodiscard]] std::string escaped(std::string_view text);

/// `text` as one argument of a POSIX shell, quoted only where it needs to be.
[[nodiscard]] std::string shell_quoted(std::string_view text);

}  // namespace ulpscope::cli
