#include "compare/align/step_sync.hpp"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <unordered_set>
#include <vector>

#include "compare/model/hash.hpp"
#include "compare/model/value_match.hpp"

namespace ulpscope::comparison {
namespace {

/// Steps searched on each side.
constexpr std::size_t kStepsAhead = 32;
/// Steps in a row that must agree, if there are so many.
constexpr std::size_t kInRow = 3;
/// Values kept of a step, of each kind.
constexpr std::size_t kKept = 64;
/// A smaller value may be the same by chance: a count, a flag, a loss.
constexpr std::uint64_t kSmallest = 16;

using Keys = std::vector<std::uint64_t>;  // ascending
using Sketches = std::vector<StepSketch>;

[[nodiscard]] bool tells(const Slot& slot) {
  constexpr std::uint32_t kAside = slot_flag::undefined | slot_flag::no_digest | slot_flag::view |
                                   slot_flag::uninitialised | slot_flag::overwritten |
                                   slot_flag::scratch | slot_flag::handle | slot_flag::opaque |
                                   slot_flag::metadata_only | slot_flag::buffer;
  if ((slot.flags & kAside) || slot.geometry == nullptr) return false;
  return element_count(*slot.geometry) * element_size(slot.geometry->dtype) >= kSmallest;
}

void keep_smallest(Keys& keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  if (keys.size() > kKept) keys.resize(kKept);
}

/// Says which events run inside an op or a node, as they come.
class Nesting {
 public:
  [[nodiscard]] bool inside_op(const Event& event) {
    const auto around = inside_.find(event.parent);
    const bool inside = around != inside_.end();
    if (inside || event.kind == EventKind::op || event.kind == EventKind::node)
      inside_.insert(event.position);
    return inside;
  }

 private:
  std::unordered_set<std::uint64_t> inside_;  ///< positions of ops, and of what runs inside them
};

[[nodiscard]] StepSketch sketch(const std::vector<HeldEvent>& events) {
  StepSketch result;
  Nesting nesting;
  std::unordered_set<std::uint64_t> known;
  for (const HeldEvent& held : events) {
    const Event& event = *held.event;
    // What an op finds in memory that it has itself allocated without an op is not data.
    const bool inside_op = nesting.inside_op(event);
    for (const Slot& slot : event.slots) {
      if (!tells(slot)) continue;
      const bool unproduced = (slot.flags & slot_flag::unproduced) && !inside_op;
      const bool outside = event.phase == Phase::data || unproduced;
      const bool parameter = slot.flags & slot_flag::parameter;
      if (parameter && slot.role != Role::input) continue;
      if (slot.role == Role::input && (event.flags & event_flag::view)) continue;
      Keys& kind = parameter ? result.parameters : outside ? result.data : result.made;
      const std::uint64_t key = KeyHash().add(slot.digest).value();
      kind.push_back(key);
      const bool first = known.insert(key).second;
      if (first && !parameter && slot.role == Role::input && event.phase == Phase::forward)
        result.read.push_back(key);
    }
  }
  keep_smallest(result.parameters);
  keep_smallest(result.data);
  keep_smallest(result.made);
  keep_smallest(result.read);
  return result;
}

/// All that the events have made is equal, one by one. Steps that need no sketches are mostly so.
[[nodiscard]] bool made_the_same(const std::vector<HeldEvent>& a, const std::vector<HeldEvent>& b) {
  const auto same_slot = [](const Slot& left, const Slot& right) {
    const bool told = tells(left) && !(left.flags & slot_flag::unproduced);
    return !told || left.digest == right.digest;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const HeldEvent& left, const HeldEvent& right) {
                      return std::ranges::equal(left.event->slots, right.event->slots, same_slot);
                    });
}

[[nodiscard]] std::size_t shared(const Keys& a, const Keys& b) {
  Keys both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both.size();
}

[[nodiscard]] bool mostly_shared(const Keys& a, const Keys& b) {
  const std::size_t fewest = std::min(a.size(), b.size());
  return fewest > 0 && 2 * shared(a, b) >= fewest;
}

[[nodiscard]] bool same_data(const StepSketch& a, const StepSketch& b) {
  const bool known = !a.data.empty() && !b.data.empty();
  return known ? mostly_shared(a.data, b.data) : mostly_shared(a.made, b.made);
}

/// Leaves only values that no other of these steps has in one of `kinds`.
void keep_distinctive(Sketches& steps, std::initializer_list<Keys StepSketch::*> kinds) {
  Keys all;
  for (const StepSketch& step : steps)
    for (const auto kind : kinds) all.insert(all.end(), (step.*kind).begin(), (step.*kind).end());
  std::sort(all.begin(), all.end());
  const auto stands_twice = [&](std::uint64_t key) {
    const auto at = std::lower_bound(all.begin(), all.end(), key);
    return std::next(at) != all.end() && *std::next(at) == key;
  };
  for (StepSketch& step : steps)
    for (const auto kind : kinds) std::erase_if(step.*kind, stands_twice);
}

/// Constants carry no information.
void leave_out_constants(Sketches& steps) {
  keep_distinctive(steps, {&StepSketch::data, &StepSketch::made});
  keep_distinctive(steps, {&StepSketch::read});
}

/// The same data was used with the same parameters. Equal data alone, and its results alone, may be
/// a different order of samples.
[[nodiscard]] bool same_computation(const StepSketch& a, const StepSketch& b) {
  const bool same_values = mostly_shared(a.made, b.made);
  if (a.parameters.empty() && b.parameters.empty()) return same_values;
  if (a.parameters != b.parameters) return same_values && mostly_shared(a.parameters, b.parameters);
  return shared(a.data, b.data) > 0 || shared(a.made, b.made) > 0;
}

/// The steps of both runs agree from these on, for at least as many as one run has before them.
[[nodiscard]] bool agree(const Sketches& a, std::size_t from_a, const Sketches& b,
                         std::size_t from_b) {
  if (from_a >= a.size() || from_b >= b.size()) return false;
  if (!same_computation(a[from_a], b[from_b])) return false;
  const std::size_t steps = std::min({kInRow, a.size() - from_a, b.size() - from_b});
  for (std::size_t k = 1; k < steps; ++k)
    if (shared(a[from_a + k].data, b[from_b + k].data) == 0 &&
        shared(a[from_a + k].made, b[from_b + k].made) == 0)
      return false;
  return steps >= std::min(kInRow, std::max(from_a, from_b));
}

/// If no op prepares data, they are parts of memory filled in setup.
[[nodiscard]] const Keys& data_of(const StepSketch& step) {
  return step.data.empty() ? step.read : step.data;
}

/// The runs read the same data from these steps on.
[[nodiscard]] bool same_data_from(const Sketches& a, std::size_t from_a, const Sketches& b,
                                  std::size_t from_b) {
  if (from_a >= a.size() || from_b >= b.size()) return false;
  if (!mostly_shared(data_of(a[from_a]), data_of(b[from_b]))) return false;
  // What a program does after its last step belongs to that one.
  const std::size_t steps = std::min({kInRow, a.size() - from_a - 1, b.size() - from_b - 1});
  for (std::size_t k = 1; k < steps; ++k) {
    const Keys& left = data_of(a[from_a + k]);
    const Keys& right = data_of(b[from_b + k]);
    if (!left.empty() && !right.empty() && shared(left, right) == 0) return false;
  }
  return true;
}

}  // namespace

const std::deque<StepSketch>& StepsAhead::from(const LaneReader& reader) {
  const auto step = reader.step();
  while (step && !sketches_.empty() && sketches_.front().step < *step) sketches_.pop_front();
  if (sketches_.empty()) reader_ = reader;
  while (sketches_.size() < kStepsAhead && reader_->step()) {
    const std::int64_t next = *reader_->step();
    std::vector<HeldEvent> events;
    reader_->read(next, std::numeric_limits<std::size_t>::max(), events);
    sketches_.push_back(sketch(events));
    sketches_.back().step = next;
  }
  return sketches_;
}

std::optional<ExtraSteps> StepSync::look(const LaneReader& reference, const LaneReader& candidate,
                                         const std::optional<ExtraSteps>& passed) {
  ++steps_;
  if (steps_ < next_look_ && !passed) return std::nullopt;
  const std::vector<HeldEvent> next = reference.peek();
  const std::vector<HeldEvent> other = candidate.peek();
  if (made_the_same(next, other) || same_data(sketch(next), sketch(other))) return std::nullopt;
  const auto& of_reference = ahead_.reference.from(reference);
  const auto& of_candidate = ahead_.candidate.from(candidate);
  Sketches a(of_reference.begin(), of_reference.end());
  Sketches b(of_candidate.begin(), of_candidate.end());
  leave_out_constants(a);
  leave_out_constants(b);
  if (passed && same_data_from(a, passed->side == Side::reference ? passed->count : 0, b,
                               passed->side == Side::candidate ? passed->count : 0))
    return passed;
  if (a.empty() || b.empty() || same_computation(a.front(), b.front())) return std::nullopt;
  for (std::size_t count = 1; count < std::max(a.size(), b.size()); ++count) {
    if (agree(a, 0, b, count)) return ExtraSteps{Side::candidate, count};
    if (agree(a, count, b, 0)) return ExtraSteps{Side::reference, count};
  }
  next_look_ = steps_ + wait_;
  wait_ *= 2;
  return std::nullopt;
}

}  // namespace ulpscope::comparison
