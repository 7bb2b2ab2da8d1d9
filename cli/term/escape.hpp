#pragma once

#include <string>
#include <string_view>

namespace ulpscope::cli {

/// `text` made safe for a terminal: bytes that control it (control characters, bidirectional marks)
/// and bytes that are not UTF-8 become \xNN.
[[nodiscard]] std::string escaped(std::string_view text);

/// `text` as one argument of a POSIX shell, quoted only where it needs to be.
[[nodiscard]] std::string shell_quoted(std::string_view text);

}  // namespace ulpscope::cli
