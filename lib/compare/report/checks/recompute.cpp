#include "compare/report/checks/recompute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "compare/diff/rng_tracker.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/words.hpp"
#include "core/counts.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::uint32_t kNoContent = slot_flag::undefined | slot_flag::no_digest |
                                     slot_flag::uninitialised | slot_flag::handle |
                                     slot_flag::opaque | slot_flag::scratch;

[[nodiscard]] bool is_read(const Slot& slot) {
  return slot.role == Role::input &&
         (slot.flags & (slot_flag::overwritten | slot_flag::metadata_only)) == 0;
}

void add_value(KeyHash& key, const Slot& slot) {
  key.add(std::uint64_t{slot.index} << 16 | slot.element).add(slot.digest);
  if (slot.geometry == nullptr) return;
  for (const std::int64_t size : slot.geometry->sizes) key.add(static_cast<std::uint64_t>(size));
}

/// The inputs and arguments of an op; empty if not all are known.
[[nodiscard]] std::optional<std::uint64_t> request_of(const Event& event) {
  KeyHash key;
  key.add(event.root).add(event.module).add(event.op).add(event.overload);
  key.add(std::string_view(reinterpret_cast<const char*>(event.argument_bytes.data()),
                           event.argument_bytes.size()));
  bool reads = false;
  for (const Slot& slot : event.slots) {
    if (!is_read(slot) || (slot.flags & slot_flag::undefined) != 0) continue;
    if ((slot.flags & kNoContent) != 0) return std::nullopt;
    add_value(key, slot);
    reads = true;
  }
  if (!reads) return std::nullopt;
  return key.value();
}

/// What it left; nothing if that cannot be compared.
[[nodiscard]] std::optional<std::uint64_t> result_of(const Event& event) {
  KeyHash key;
  bool any = false;
  for (const Slot& slot : event.slots) {
    if (slot.role == Role::input || (slot.flags & kNoContent) != 0) continue;
    add_value(key, slot);
    any = true;
  }
  if (!any) return std::nullopt;
  return key.value();
}

}  // namespace

void RecomputeCollector::compare(const Event& event, std::int64_t step,
                                 const std::vector<Seen>& before) {
  const auto result = result_of(event);
  if (!result) return;
  const bool equal = std::any_of(before.begin(), before.end(),
                                 [&](const Seen& one) { return one.result == *result; });
  if (equal) {
    ++equal_;
    return;
  }
  ++differing_;
  if (found_.size() == kKept) return;
  const Seen& first = before.front();
  const bool other_draws = drew(event) && first.state && *first.state != event.rng.before;
  found_.push_back({step, std::string(event.op), std::string(event.module), first.event,
                    event.position, other_draws});
}

void RecomputeCollector::see(const Lane& lane, const Block& block) {
  LaneState& state = lanes_[lane.id];
  if (block.step != state.step) state.forward.clear();
  state.step = block.step;
  for (const Event& event : block.events) {
    if (state.nesting.enter(event) || event.kind != EventKind::op || !event.has_module) continue;
    const bool again = event.phase == Phase::backward;
    if (!again && event.phase != Phase::forward) continue;
    const auto request = request_of(event);
    if (!request) continue;
    const auto known = state.forward.find(*request);
    if (again) {
      if (known != state.forward.end()) compare(event, block.step, known->second);
      continue;
    }
    const auto result = result_of(event);
    if (!result) continue;
    state.forward[*request].push_back(
        {event.position, *result, drew(event) ? std::optional(event.rng.before) : std::nullopt});
  }
}

Check RecomputeCollector::check() const {
  Check check{"recompute", Check::Result::ok, {}, {}};
  if (found_.empty()) {
    check.text = equal_ == 0 ? "no forward is recomputed in backward"
                             : fmt::format("{} recomputed in backward as in forward",
                                           core::counted(equal_, "op"));
    return check;
  }
  check.result = Check::Result::look;
  check.text = fmt::format(
      "{} recomputed in backward from equal inputs with different results: gradients belong to "
      "a different function than the loss",
      core::counted(differing_, "op"));
  for (const Recomputed& one : found_) {
    if (check.details.size() == 8) break;
    check.details.push_back(fmt::format("step {}: {}", one.step, words(one)));
  }
  if (differing_ > check.details.size())
    check.details.push_back(fmt::format("and {} more", differing_ - check.details.size()));
  return check;
}

std::vector<Recomputed> recomputed_in(const Run& run, std::uint32_t rank, std::int64_t step) {
  RecomputeCollector collector;
  for (const Lane& lane : run.lanes(rank))
    for (std::size_t i = 0; i < run.block_count(rank, lane.id); ++i) {
      const Block block = run.block(rank, lane.id, i);
      if (block.step > step) break;
      if (block.step == step) collector.see(lane, block);
    }
  return collector.found();
}

std::string words(const Recomputed& recomputed) {
  return fmt::format("{} of {} at event {}, in forward at event {}{}", recomputed.op,
                     recomputed.module.empty() ? "the root" : recomputed.module,
                     recomputed.backward_event, recomputed.forward_event,
                     recomputed.other_draws ? ", from a different state of the generator" : "");
}

}  // namespace ulpscope::comparison
