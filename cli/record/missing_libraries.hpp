#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ulpscope::cli {

/// The libraries that `program` needs, directly or by others, and that its loader does not find, by
/// name. Asks the loader, which does not start the program then. None if it cannot be asked.
[[nodiscard]] std::vector<std::string> missing_libraries(const std::string& loader,
                                                         const std::filesystem::path& program);

}  // namespace ulpscope::cli
