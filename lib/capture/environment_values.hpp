#pragma once

#include <map>
#include <string>

namespace ulpscope::capture {

/// Settings of the process by key, as the dump has them.
using EnvironmentValues = std::map<std::string, std::string>;

}  // namespace ulpscope::capture
