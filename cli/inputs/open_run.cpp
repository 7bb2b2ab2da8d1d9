#include "cli/inputs/open_run.hpp"

#include <fmt/format.h>

#include "cli/inputs/dump_path.hpp"
#include "cli/options/dump_argument.hpp"
#include "core/counts.hpp"
#include "dump/layout.hpp"
#include "dump/selector.hpp"
#include "ulpscope/dump_reader.hpp"
#include "ulpscope/error.hpp"
#include "writer/recording_lock.hpp"

namespace ulpscope::cli {
namespace {

/// A selector that is valid but matches nothing in the dump.
void refuse_empty_selection(const DumpArgument& dump) {
  const dump::Selector selector = dump::parse_selector(dump.selector);
  const std::string name = dump.directory.string();
  const std::string ranks = ranks_in_words(dump.directory);
  if (ranks.empty()) return;
  for (const auto& [first, last] : selector.ranks) {
    for (std::uint64_t rank = first; rank <= last; ++rank) {
      if (std::filesystem::exists(
              dump::rank_path(dump.directory, static_cast<std::uint32_t>(rank)))) {
        continue;
      }
      throw Error(ErrorCode::usage, fmt::format("'{}' has no rank {}", name, rank),
                  fmt::format("it has {}", ranks));
    }
  }
}

/// What the user can do about errors that have no hint.
std::string hint_for(ErrorCode code) {
  return code == ErrorCode::incomplete
             ? "record again; DUMP/status.json says what happened"
             : "run `ulpscope verify` on the dump to see what else is wrong with it";
}

std::unique_ptr<Run> open(const DumpArgument& dump) {
  try {
    return open_dump(dump.directory, dump.selector);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::incomplete && writer::is_being_recorded(dump.directory)) {
      throw Error(ErrorCode::incomplete,
                  fmt::format("'{}' is being recorded, and nothing of it is published yet",
                              dump.directory.string()),
                  "wait until the recording has ended");
    }
    if (!error.hint().empty()) throw;
    throw Error(error.code(), error.what(), hint_for(error.code()));
  }
}

}  // namespace

std::string ranks_selector(const std::string& source, std::string_view list) {
  std::string selector;
  for (std::string_view rest = list;;) {
    const std::size_t comma = rest.find(',');
    selector += fmt::format("{}rank={}", selector.empty() ? "" : ",", rest.substr(0, comma));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  try {
    static_cast<void>(dump::parse_selector(selector));
  } catch (const Error&) {
    throw Error(ErrorCode::usage, fmt::format("{} takes ranks, not '{}'", source, list),
                fmt::format("give them as {} 0,2,4-7", source));
  }
  return selector;
}

std::unique_ptr<Run> open_run(const std::string& argument, const std::string& ranks) {
  DumpArgument dump = parse_dump_argument(argument);
  if (!ranks.empty()) {
    if (!dump::parse_selector(dump.selector).ranks.empty()) {
      throw Error(ErrorCode::usage,
                  fmt::format("'{}' selects ranks, and so does --ranks", argument),
                  fmt::format("give ranks once: {}", dump.directory.string()));
    }
    dump.selector += (dump.selector.empty() ? "" : ",") + ranks;
  }
  require_dump(dump.directory);
  refuse_empty_selection(dump);
  auto run = open(dump);
  if (!dump.selector.empty() && run->info().events == 0) {
    const std::uint64_t steps = open_dump(dump.directory)->info().steps;
    throw Error(ErrorCode::usage, fmt::format("'{}' selects nothing", argument),
                steps == 0
                    ? "it has no steps"
                    : fmt::format("it has {}, counted from 0", core::counted(steps, "step")));
  }
  return run;
}

std::filesystem::path whole_dump(const std::string& argument) {
  const DumpArgument dump = parse_dump_argument(argument);
  if (!dump.selector.empty()) {
    throw Error(ErrorCode::usage, fmt::format("'{}' is a part of a dump", argument),
                fmt::format("give the whole: {}", dump.directory.string()));
  }
  require_dump(dump.directory);
  if (writer::is_being_recorded(dump.directory)) {
    throw Error(ErrorCode::incomplete,
                fmt::format("'{}' is being recorded", dump.directory.string()),
                "wait until the recording has ended");
  }
  return dump.directory;
}

}  // namespace ulpscope::cli
