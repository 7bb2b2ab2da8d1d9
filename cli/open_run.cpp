#include "cli/open_run.hpp"

#include "cli/dump_argument.hpp"
#include "ulpscope/dump_reader.hpp"

namespace ulpscope::cli {

std::unique_ptr<Run> open_run(const std::string& argument) {
  const DumpArgument dump = parse_dump_argument(argument);
  return open_dump(dump.directory, dump.selector);
}

}  // namespace ulpscope::cli
