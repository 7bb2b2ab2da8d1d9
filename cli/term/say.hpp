#pragma once

#include <string_view>

namespace ulpscope::cli {

/// A line on standard error, best effort: a closed stream is not an error.
void say(std::string_view line);

/// "ulpscope: error: MESSAGE", then "help: HINT" if there is one; of what is longer than 1,000
/// bytes the beginning and the end.
void say_error(std::string_view message, std::string_view hint);

}  // namespace ulpscope::cli
