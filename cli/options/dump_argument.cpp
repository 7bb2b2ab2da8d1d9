#include "cli/options/dump_argument.hpp"

#include <system_error>

namespace ulpscope::cli {

DumpArgument parse_dump_argument(std::string_view text) {
  const std::size_t at = text.rfind('@');
  const bool selects = at != std::string_view::npos && text.find('=', at) != std::string_view::npos;
  std::error_code ignored;
  if (!selects || std::filesystem::exists(std::filesystem::path(text), ignored)) {
    return {std::filesystem::path(text), {}};
  }
  return {std::filesystem::path(text.substr(0, at)), std::string(text.substr(at + 1))};
}

}  // namespace ulpscope::cli
