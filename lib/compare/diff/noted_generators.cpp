#include "compare/diff/noted_generators.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>

#include "compare/model/words.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::string_view kPrefix = "note.rng.";

/// Behind it stands how far the numbers are used that a generator makes at once.
constexpr std::string_view kAt = " at ";

using States = std::vector<const EnvironmentEntry*>;

/// What was noted of each generator, in order.
[[nodiscard]] std::map<std::string_view, States> states_in(
    const std::vector<EnvironmentEntry>& entries) {
  std::map<std::string_view, States> states;
  for (const EnvironmentEntry& entry : entries)
    if (entry.key.starts_with(kPrefix))
      states[std::string_view(entry.key).substr(kPrefix.size())].push_back(&entry);
  return states;
}

[[nodiscard]] std::string_view stream_of(const EnvironmentEntry& state) {
  return std::string_view(state.value).substr(0, state.value.find(kAt));
}

/// The last state of which `is_same(state, other)` for one of the others; null if there is none.
template <class Same>
[[nodiscard]] const EnvironmentEntry* last_common(const States& states, const States& others,
                                                  Same is_same) {
  const auto found = std::find_if(states.rbegin(), states.rend(), [&](const auto* state) {
    return std::any_of(others.begin(), others.end(),
                       [&](const auto* other) { return is_same(*state, *other); });
  });
  return found == states.rend() ? nullptr : *found;
}

}  // namespace

std::vector<ShiftedGenerator> shifted_generators(const std::vector<EnvironmentEntry>& reference,
                                                 const std::vector<EnvironmentEntry>& candidate) {
  const auto others = states_in(candidate);
  std::vector<ShiftedGenerator> shifted;
  for (const auto& [name, states] : states_in(reference)) {
    const auto found = others.find(name);
    if (found == others.end()) continue;
    const std::string& left = states.back()->value;
    const std::string& other_left = found->second.back()->value;
    if (left == other_left) continue;
    const EnvironmentEntry* const equal =
        last_common(states, found->second,
                    [](const auto& one, const auto& other) { return one.value == other.value; });
    const bool same_stream =
        equal != nullptr ||
        last_common(states, found->second, [](const auto& one, const auto& other) {
          return stream_of(one) == stream_of(other);
        }) != nullptr;
    if (!same_stream) continue;
    shifted.push_back({std::string(name),
                       {left, other_left},
                       equal == nullptr ? std::string() : step_words(equal->step)});
  }
  return shifted;
}

}  // namespace ulpscope::comparison
