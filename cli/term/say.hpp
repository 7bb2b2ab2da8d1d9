#pragma once

#include <string_view>

namespace ulpscope::cli {

/// A line on standard error, best effort: that nobody listens there is no reason to fail.
void say(std::string_view line);

/// "ulpscope: error: MESSAGE", then "help: HINT" if there is one.
void say_error(std::string_view message, std::string_view hint);

}  // namespace ulpscope::cli
