#include "cli/record/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

#include "ulpscope/dump_reader.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

/// Whether the dump has an op or, `or_module`, a call of a module.
bool holds(const Run& run, bool or_module) {
  const auto counts = [or_module](const Event& event) {
    return event.kind == EventKind::op || (or_module && event.kind == EventKind::module);
  };
  for (const std::uint32_t rank : run.ranks())
    for (const Lane& lane : run.lanes(rank))
      for (std::size_t k = 0; k < run.block_count(rank, lane.id); ++k) {
        const Block block = run.block(rank, lane.id, k);
        if (std::any_of(block.events.begin(), block.events.end(), counts)) return true;
      }
  return false;
}

/// Globs, one a line, as an option has them.
std::string as_option(std::string_view globs) {
  std::string list(globs);
  std::replace(list.begin(), list.end(), '\n', ',');
  if (list.ends_with(',')) list.pop_back();
  return list;
}

}  // namespace

std::string why_nothing_was_selected(const RecordOptions& options, const RecordResult& result) {
  const ring::Settings& settings = options.settings;
  if (!result.status.recorded || !result.status.complete) return {};
  const bool selects_steps =
      settings.first_step > 0 || settings.last_step != std::numeric_limits<std::uint64_t>::max();
  if (result.status.counts.events == 0 && selects_steps) return "no step of --steps was reached";
  const std::string ops = as_option(settings.ops.view());
  const std::string modules = as_option(settings.modules.view());
  if (ops.empty() && modules.empty()) return {};
  try {
    if (holds(*open_dump(result.dump), ops.empty())) return {};
  } catch (const Error&) {
    return {};  // which reading the dump says
  }
  return ops.empty() ? fmt::format("no module that ran fits --modules {}", modules)
                     : fmt::format("no op that ran fits --ops {}", ops);
}

}  // namespace ulpscope::cli
