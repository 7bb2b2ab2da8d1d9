#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace ulpscope::cli {

/// `DUMP` or `DUMP@selector` as given on the command line.
struct DumpArgument {
  std::filesystem::path directory;
  std::string selector;  ///< "rank=2,steps=10-19"; empty for all
};

/// Splits at the last '@' that a "key=value" follows, unless a file has the whole name.
[[nodiscard]] DumpArgument parse_dump_argument(std::string_view text);

}  // namespace ulpscope::cli
