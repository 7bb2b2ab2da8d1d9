#include "compare/diff/outcomes/noted_generators.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "compare/model/words.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::string_view kBegin = "begin.";
constexpr std::string_view kEnd = "end.";
constexpr std::string_view kNote = "note.";
constexpr std::string_view kGenerator = "rng.";

/// Behind it stands how far the numbers are used that a generator makes at once.
constexpr std::string_view kAt = " at ";

using States = std::vector<const EnvironmentEntry*>;

/// The generator of which the entry is a state.
[[nodiscard]] std::optional<std::string_view> generator_of(const EnvironmentEntry& entry) {
  for (const std::string_view when : {kBegin, kNote, kEnd}) {
    std::string_view key = entry.key;
    if (!key.starts_with(when)) continue;
    key.remove_prefix(when.size());
    if (key.starts_with(kGenerator)) return key.substr(kGenerator.size());
  }
  return std::nullopt;
}

/// What was noted of each generator.
[[nodiscard]] std::map<std::string_view, States> states_in(
    const std::vector<EnvironmentEntry>& entries) {
  std::map<std::string_view, States> states;
  for (const EnvironmentEntry& entry : entries)
    if (const auto name = generator_of(entry)) states[*name].push_back(&entry);
  return states;
}

[[nodiscard]] std::string_view stream_of(std::string_view state) {
  return state.substr(0, state.find(kAt));
}

/// The state that the run leaves. Null: not known, of a generator that is looked at when a
/// recording begins and was not when it ended.
[[nodiscard]] const std::string* left_in(const States& states) {
  const auto last = [&](std::string_view when) {
    const auto found = std::find_if(states.rbegin(), states.rend(), [when](const auto* state) {
      return state->key.starts_with(when);
    });
    return found == states.rend() ? nullptr : &(*found)->value;
  };
  if (const std::string* const end = last(kEnd)) return end;
  return last(kBegin) != nullptr ? nullptr : last(kNote);
}

/// As a generator is that has been seeded and not been drawn from.
[[nodiscard]] bool is_fresh(std::string_view state) { return state.ends_with(" at 0"); }

/// The last step until which both had a state with the same `part_of` it.
template <class Part>
[[nodiscard]] std::optional<std::int64_t> last_common(const States& states, const States& others,
                                                      Part part_of) {
  std::unordered_map<std::string_view, std::int64_t> last_of;
  for (const EnvironmentEntry* const other : others) {
    const auto [at, added] = last_of.try_emplace(part_of(other->value), other->step);
    at->second = std::max(at->second, other->step);
  }
  std::optional<std::int64_t> last;
  for (const EnvironmentEntry* const state : states)
    if (const auto other = last_of.find(part_of(state->value)); other != last_of.end())
      last = std::max(last.value_or(kSetup), std::min(state->step, other->second));
  return last;
}

}  // namespace

std::vector<ShiftedGenerator> shifted_generators(const std::vector<EnvironmentEntry>& reference,
                                                 const std::vector<EnvironmentEntry>& candidate) {
  const auto others = states_in(candidate);
  std::vector<ShiftedGenerator> shifted;
  for (const auto& [name, states] : states_in(reference)) {
    const auto found = others.find(name);
    if (found == others.end()) continue;
    const std::string* const left = left_in(states);
    const std::string* const other_left = left_in(found->second);
    if (left == nullptr || other_left == nullptr || *left == *other_left) continue;
    const Both<std::string> both_left{*left, *other_left};
    if (!of_one_stream(both_left) && is_fresh(*left) && is_fresh(*other_left)) continue;
    const auto equal = last_common(states, found->second, std::identity());
    if (!equal && !last_common(states, found->second, stream_of)) continue;
    shifted.push_back({std::string(name), both_left, equal ? step_words(*equal) : std::string()});
  }
  return shifted;
}

bool of_one_stream(const Both<std::string>& left) {
  return stream_of(left.reference) == stream_of(left.candidate);
}

bool ran_beside_threads(const std::vector<EnvironmentEntry>& environment) {
  return std::any_of(environment.begin(), environment.end(),
                     [](const EnvironmentEntry& entry) { return entry.key == "end.threads"; });
}

}  // namespace ulpscope::comparison
