#include "compare/align/step_sketch.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compare/model/call_key.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/value_match.hpp"

namespace ulpscope::comparison {
namespace {

/// Steps searched on each side.
constexpr std::size_t kStepsAhead = 32;
/// A smaller value may be the same by chance: a count, a flag, a loss.
constexpr std::uint64_t kSmallest = 16;

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
  if (keys.size() > StepSketch::kKept) keys.resize(StepSketch::kKept);
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

/// Says which call of the program runs each event, as they come.
class ProgramCalls {
 public:
  [[nodiscard]] std::uint64_t call_of(const Event& event) {
    const auto around = calls_.find(event.parent);
    std::uint64_t call = keys_.of(event.stack);
    if (event.stack.empty() && around != calls_.end()) call = around->second;
    if (call != 0) calls_.emplace(event.position, call);
    return call;
  }

 private:
  CallKeys keys_;
  std::unordered_map<std::uint64_t, std::uint64_t> calls_;  ///< by position
};

/// Says which events work on what the model has made in the step, or on its parameters, as they
/// come.
class ModelEvents {
 public:
  bool add(const Event& event) {
    constexpr std::uint32_t kOfModel = slot_flag::parameter | slot_flag::gradient;
    const bool trains = event.phase == Phase::forward || event.phase == Phase::backward ||
                        event.phase == Phase::optimizer;
    const bool is_of_model =
        (trains && event.has_module) || event.phase == Phase::backward ||
        positions_.contains(event.parent) ||
        std::any_of(event.slots.begin(), event.slots.end(), [&](const Slot& slot) {
          return (slot.flags & kOfModel) ||
                 (slot.role == Role::input && positions_.contains(slot.writer));
        });
    if (is_of_model) positions_.insert(event.position);
    return is_of_model;
  }

 private:
  std::unordered_set<std::uint64_t> positions_;
};

}  // namespace

StepSketch sketch(const std::vector<HeldEvent>& events, const TrainingBegin& training) {
  const std::uint64_t step_begin = events.empty() ? kNone : events.front().event->position;
  const auto is_carried_over = [&](const Slot& slot) {
    return slot.role == Role::input && slot.writer != kNone && slot.writer_lane == training.lane &&
           slot.writer >= training.position && slot.writer < step_begin;
  };
  StepSketch result;
  Nesting nesting;
  ModelEvents of_model;
  ProgramCalls calls;
  std::unordered_set<std::uint64_t> known;
  bool in_backward = false;
  for (const HeldEvent& held : events) {
    const Event& event = *held.event;
    const bool was_in_backward = std::exchange(in_backward, event.phase == Phase::backward);
    if (in_backward && !was_in_backward) ++result.backward_passes;
    // What an op finds in memory that it has itself allocated without an op is not data.
    const bool inside_op = nesting.inside_op(event);
    const std::uint64_t call = calls.call_of(event);
    if (call != 0) result.all_calls.push_back(call);
    if (event.kind == EventKind::op && event.phase == Phase::forward && !inside_op) {
      result.forward_ops.push_back(KeyHash().add(event.op).value());
      if (result.calls.empty() || result.calls.back() != call) result.calls.push_back(call);
    }
    const bool prepares = !of_model.add(event) && event.phase == Phase::data;
    for (const Slot& slot : event.slots) {
      if (!tells(slot)) continue;
      const bool unproduced =
          (slot.flags & slot_flag::unproduced) && !inside_op && !(slot.flags & slot_flag::gradient);
      const bool outside = prepares || unproduced;
      const bool parameter = slot.flags & slot_flag::parameter;
      if (parameter && slot.role != Role::input) continue;
      if (slot.role == Role::input && (event.flags & event_flag::view)) continue;
      Keys& kind = parameter ? result.parameters : outside ? result.data : result.made;
      const std::uint64_t key = KeyHash().add(slot.digest).value();
      kind.push_back(key);
      const bool first = known.insert(key).second;
      if (first && !parameter && slot.role == Role::input && event.phase == Phase::forward &&
          !inside_op && !is_carried_over(slot))
        result.read.push_back(key);
    }
  }
  std::ranges::sort(result.all_calls);
  result.all_calls.erase(std::unique(result.all_calls.begin(), result.all_calls.end()),
                         result.all_calls.end());
  keep_smallest(result.parameters);
  keep_smallest(result.data);
  keep_smallest(result.made);
  keep_smallest(result.read);
  return result;
}

bool made_the_same(const std::vector<HeldEvent>& a, const std::vector<HeldEvent>& b) {
  const auto same_slot = [](const Slot& left, const Slot& right) {
    const bool told = tells(left) && !(left.flags & slot_flag::unproduced);
    return !told || left.digest == right.digest;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const HeldEvent& left, const HeldEvent& right) {
                      return std::ranges::equal(left.event->slots, right.event->slots, same_slot);
                    });
}

Keys outside_data(const StepSketch& step) {
  Keys all;
  std::set_union(step.data.begin(), step.data.end(), step.read.begin(), step.read.end(),
                 std::back_inserter(all));
  return all;
}

Keys common(const Keys& a, const Keys& b) {
  Keys both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

std::size_t shared(const Keys& a, const Keys& b) { return common(a, b).size(); }

bool mostly_shared(const Keys& a, const Keys& b) {
  const std::size_t fewest = std::min(a.size(), b.size());
  return fewest > 0 && 2 * shared(a, b) >= fewest;
}

bool same_data(const StepSketch& a, const StepSketch& b) {
  const bool known = !a.data.empty() && !b.data.empty();
  return known ? mostly_shared(a.data, b.data) : mostly_shared(a.made, b.made);
}

const std::deque<StepSketch>& StepsAhead::from(const LaneReader& reader,
                                               const TrainingBegin& training) {
  const auto step = reader.step();
  while (step && !sketches_.empty() && sketches_.front().step < *step) sketches_.pop_front();
  if (sketches_.empty()) reader_ = reader;
  while (sketches_.size() < kStepsAhead && reader_->step()) {
    const std::int64_t next = *reader_->step();
    std::vector<HeldEvent> events;
    reader_->read(next, std::numeric_limits<std::size_t>::max(), events);
    sketches_.push_back(sketch(events, training));
    sketches_.back().step = next;
  }
  return sketches_;
}

}  // namespace ulpscope::comparison
