#include "cli/record/missing_libraries.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <system_error>

#include "cli/base/filter.hpp"

namespace ulpscope::cli {

std::vector<std::string> missing_libraries(const std::string& loader,
                                           const std::filesystem::path& program) try {
  constexpr std::string_view kMissing = " => not found";
  std::vector<std::string> names;
  std::istringstream lines(
      filter({"env", "LD_TRACE_LOADED_OBJECTS=1", loader, program.string()}, {}).output);
  for (std::string line; std::getline(lines, line);) {
    if (!line.ends_with(kMissing)) continue;
    line.resize(line.size() - kMissing.size());
    names.push_back(line.substr(std::min(line.find_first_not_of(" \t"), line.size())));
  }
  return names;
} catch (const std::system_error&) {
  return {};
}

}  // namespace ulpscope::cli
