#include "compare/step_sync.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <vector>

#include "compare/hash.hpp"
#include "compare/value_match.hpp"

namespace ulpscope::comparison {
namespace {

/// Steps looked through on either side.
constexpr std::size_t kLookAhead = 32;
/// Steps in a row that must agree, as far as there are so many.
constexpr std::size_t kInRow = 3;
/// Values kept of a step, of either kind.
constexpr std::size_t kKept = 64;
/// A smaller value may be the same by chance: a count, a flag, a loss.
constexpr std::uint64_t kSmallest = 16;

using Keys = std::vector<std::uint64_t>;  // ascending

/// Some of the values of a step, chosen by their content, so that equal steps keep the same ones.
struct Sketch {
  Keys data;  ///< from outside of the model
  Keys made;
  Keys parameters;  ///< as they were read
};

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

[[nodiscard]] Sketch sketch(const std::vector<HeldEvent>& events) {
  Sketch result;
  for (const HeldEvent& held : events) {
    const Event& event = *held.event;
    for (const Slot& slot : event.slots) {
      if (!tells(slot)) continue;
      const bool outside = event.phase == Phase::data || (slot.flags & slot_flag::unproduced);
      const bool parameter = slot.flags & slot_flag::parameter;
      if (parameter && slot.role != Role::input) continue;
      Keys& kind = parameter ? result.parameters : outside ? result.data : result.made;
      kind.push_back(KeyHash().add(slot.digest).value());
    }
  }
  keep_smallest(result.parameters);
  keep_smallest(result.data);
  keep_smallest(result.made);
  return result;
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

[[nodiscard]] bool same_data(const Sketch& a, const Sketch& b) {
  const bool known = !a.data.empty() && !b.data.empty();
  return known ? mostly_shared(a.data, b.data) : mostly_shared(a.made, b.made);
}

[[nodiscard]] std::vector<Sketch> sketches_ahead(LaneReader reader) {
  std::vector<Sketch> result;
  while (reader.step() && result.size() < kLookAhead) {
    std::vector<HeldEvent> events;
    reader.read(*reader.step(), std::numeric_limits<std::size_t>::max(), events);
    result.push_back(sketch(events));
  }
  return result;
}

/// Leaves only values that no other of these steps has: constants tell nothing.
void keep_distinctive(std::vector<Sketch>& steps) {
  std::map<std::uint64_t, std::size_t> count;
  for (const Sketch& step : steps)
    for (const Keys* keys : {&step.data, &step.made})
      for (const std::uint64_t key : *keys) ++count[key];
  for (Sketch& step : steps)
    for (Keys* keys : {&step.data, &step.made})
      std::erase_if(*keys, [&](std::uint64_t key) { return count[key] > 1; });
}

/// The same data met the same parameters. Equal data alone, and what is made of them alone, may be
/// another order of samples.
[[nodiscard]] bool same_computation(const Sketch& a, const Sketch& b) {
  const bool same_values = mostly_shared(a.made, b.made);
  if (a.parameters.empty() && b.parameters.empty()) return same_values;
  if (a.parameters != b.parameters) return same_values && mostly_shared(a.parameters, b.parameters);
  return shared(a.data, b.data) > 0 || shared(a.made, b.made) > 0;
}

/// The steps of both runs agree from these on, for at least as many as one run has before them.
[[nodiscard]] bool agree(const std::vector<Sketch>& a, std::size_t from_a,
                         const std::vector<Sketch>& b, std::size_t from_b) {
  if (from_a >= a.size() || from_b >= b.size()) return false;
  if (!same_computation(a[from_a], b[from_b])) return false;
  const std::size_t steps = std::min({kInRow, a.size() - from_a, b.size() - from_b});
  for (std::size_t k = 1; k < steps; ++k)
    if (shared(a[from_a + k].data, b[from_b + k].data) == 0 &&
        shared(a[from_a + k].made, b[from_b + k].made) == 0)
      return false;
  return steps >= std::min(kInRow, std::max(from_a, from_b));
}

}  // namespace

std::optional<ExtraSteps> StepSync::look(const LaneReader& reference, const LaneReader& candidate) {
  ++steps_;
  if (steps_ < next_look_ || same_data(sketch(reference.peek()), sketch(candidate.peek())))
    return std::nullopt;
  std::vector<Sketch> a = sketches_ahead(reference);
  std::vector<Sketch> b = sketches_ahead(candidate);
  keep_distinctive(a);
  keep_distinctive(b);
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
