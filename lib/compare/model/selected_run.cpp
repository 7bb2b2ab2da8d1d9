#include "compare/model/selected_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "compare/model/changed_block.hpp"
#include "core/glob.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::string_view kModules = "capture.modules";
constexpr std::string_view kOps = "capture.ops";
constexpr std::string_view kIgnore = "capture.ignore";

[[nodiscard]] std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (!line.empty()) lines.emplace_back(line);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return lines;
}

[[nodiscard]] bool fits_op(const std::vector<std::string>& globs, std::string_view op) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return core::glob_match_op(glob, op); });
}

[[nodiscard]] bool fits_module(const std::vector<std::string>& globs, std::string_view path) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return core::glob_match_module(glob, path); });
}

/// Events that are recorded whatever is selected.
[[nodiscard]] bool is_always_recorded(EventKind kind) noexcept {
  return kind == EventKind::optimizer || kind == EventKind::zero_grad || kind == EventKind::step ||
         kind == EventKind::parameters || kind == EventKind::outcome;
}

}  // namespace

bool Selection::wants(const Event& event) const {
  if (is_always_recorded(event.kind)) return true;
  if (fits_op(ignore, event.op)) return false;
  if (event.kind == EventKind::op && !ops.empty() && !fits_op(ops, event.op)) return false;
  if (!event.has_module) return modules.empty();
  return wants_module(event.module);
}

bool Selection::wants(const Slot& parameter) const {
  const std::size_t dot = parameter.name.rfind('.');
  return wants_module(dot == std::string_view::npos ? std::string_view()
                                                    : parameter.name.substr(0, dot));
}

bool Selection::wants_module(std::string_view path) const {
  return !fits_module(ignore, path) && (modules.empty() || fits_module(modules, path));
}

Selection selection_of(const Run& run, std::uint32_t rank) {
  Selection selection;
  for (const EnvironmentEntry& entry : run.environment(rank)) {
    if (entry.key == kModules) selection.modules = lines_of(entry.value);
    if (entry.key == kOps) selection.ops = lines_of(entry.value);
    if (entry.key == kIgnore) selection.ignore = lines_of(entry.value);
  }
  return selection;
}

std::string selected_alone(const Selection& selection, const Selection& other) {
  const auto words = [](std::string_view option, const std::vector<std::string>& patterns) {
    return fmt::format("--{0} {1}", option, fmt::join(patterns, fmt::format(" --{} ", option)));
  };
  if (!selection.modules.empty() && selection.modules != other.modules)
    return words("modules", selection.modules);
  if (!selection.ops.empty() && selection.ops != other.ops) return words("ops", selection.ops);
  if (!selection.ignore.empty() && selection.ignore != other.ignore)
    return words("ignore", selection.ignore);
  return {};
}

SelectedRun::SelectedRun(const Run& run, Selections selections)
    : ForwardedRun(run), selections_(std::move(selections)) {}

SelectedRun::LeftOut SelectedRun::read_left_out(std::uint32_t rank, std::uint32_t lane) const {
  const std::vector<Lane> lanes = run().lanes(rank);
  if (std::none_of(lanes.begin(), lanes.end(), [&](const Lane& one) { return one.id == lane; }))
    return {};
  const Selection& selection = selections_.at(rank);
  LeftOut result;
  struct Open {
    std::uint64_t position = kNone;
    std::uint64_t shown = kNone;  ///< itself, or the nearest event around it that is not left out
  };
  std::vector<Open> open;
  for (std::size_t index = 0; index < run().block_count(rank, lane); ++index) {
    const Block block = run().block(rank, lane, index);
    for (const Event& event : block.events) {
      while (!open.empty() && open.back().position != event.parent) open.pop_back();
      const std::uint64_t around = open.empty() ? kNone : open.back().shown;
      const bool wanted = selection.wants(event);
      open.push_back({event.position, wanted ? event.position : around});
      if (!wanted) result.emplace_back(event.position, around);
    }
  }
  return result;
}

const SelectedRun::LeftOut& SelectedRun::left_out(std::uint32_t rank, std::uint32_t lane) const {
  const std::lock_guard guard(mutex_);
  auto known = left_out_.find({rank, lane});
  if (known == left_out_.end())
    known = left_out_.emplace(std::pair(rank, lane), read_left_out(rank, lane)).first;
  return known->second;
}

std::uint64_t SelectedRun::shown(std::uint32_t rank, std::uint32_t lane,
                                 std::uint64_t position) const {
  if (position == kNone) return kNone;
  const LeftOut& gone = left_out(rank, lane);
  const auto found =
      std::lower_bound(gone.begin(), gone.end(), std::pair(position, std::uint64_t{0}));
  return found != gone.end() && found->first == position ? found->second : position;
}

Block SelectedRun::block(std::uint32_t rank, std::uint32_t lane, std::size_t index) const {
  const auto selected = selections_.find(rank);
  if (selected == selections_.end()) return run().block(rank, lane, index);
  auto changed = std::make_shared<ChangedBlock>(run().block(rank, lane, index));
  Block block;
  block.step = changed->whole().step;
  block.lane = lane;
  for (const Event& event : changed->whole().events) {
    if (!selected->second.wants(event)) continue;
    Event& taken = block.events.emplace_back(event);
    taken.parent = shown(rank, lane, event.parent);
    taken.forward = shown(rank, event.forward_lane, event.forward);
    std::vector<Slot>& slots = changed->own_slots(taken);
    if (event.kind == EventKind::parameters) {
      std::erase_if(slots, [&](const Slot& slot) { return !selected->second.wants(slot); });
      taken.slots = slots;
    }
    for (Slot& slot : slots) slot.writer = shown(rank, slot.writer_lane, slot.writer);
  }
  block.storage = std::move(changed);
  return block;
}

Both<SelectedRun::Selections> selections_of_partners(
    const Both<const Run*>& runs, const std::vector<Both<std::uint32_t>>& ranks) {
  Both<SelectedRun::Selections> result;
  for (const Both<std::uint32_t>& pair : ranks) {
    const Both<Selection> selections{selection_of(*runs.reference, pair.reference),
                                     selection_of(*runs.candidate, pair.candidate)};
    if (selections.reference == selections.candidate) continue;
    for (const Side side : kSides)
      on(result, side)[on(pair, side)] = on(selections, the_other(side));
  }
  return result;
}

}  // namespace ulpscope::comparison
