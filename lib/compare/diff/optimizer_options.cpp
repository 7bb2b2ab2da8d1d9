#include "compare/diff/optimizer_options.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace ulpscope::comparison {
namespace {

[[nodiscard]] std::vector<ArgumentReport> differing_options(const Event& reference,
                                                            const Event& candidate) {
  // A dump of an earlier version has none.
  if (reference.argument_bytes.empty() || candidate.argument_bytes.empty()) return {};
  std::vector<ArgumentReport> differing;
  const std::string optimizer(reference.op.substr(0, reference.op.find("::")));
  const std::vector<Argument> left = arguments(reference);
  const std::vector<Argument> right = arguments(candidate);
  const auto find = [](const std::vector<Argument>& all, std::string_view name) {
    return std::find_if(all.begin(), all.end(),
                        [&](const Argument& one) { return one.name == name; });
  };
  for (const Argument& one : left) {
    const auto other = find(right, one.name);
    if (other == right.end())
      differing.push_back({std::string(one.name), one.text, {}, optimizer});
    else if (other->text != one.text)
      differing.push_back({std::string(one.name), one.text, other->text, optimizer});
  }
  for (const Argument& one : right)
    if (find(left, one.name) == left.end())
      differing.push_back({std::string(one.name), {}, one.text, optimizer});
  return differing;
}

/// The step of an optimizer that an event is, or is inside of; null if there is none.
[[nodiscard]] const Event* optimizer_around(const Window& window, std::uint32_t index) {
  while (index != kNoIndex && window.event(index).kind != EventKind::optimizer)
    index = window.parent(index);
  return index == kNoIndex ? nullptr : &window.event(index);
}

}  // namespace

void OptimizerOptions::passed(const Scene& scene, EventPair at) {
  const Window& window = *scene.windows.reference;
  if (!(window.event(at.reference).flags & event_flag::in_optimizer)) return;
  const Event* const reference = optimizer_around(window, at.reference);
  const Event* const candidate = optimizer_around(*scene.windows.candidate, at.candidate);
  if (reference == nullptr || candidate == nullptr) return;
  Last& last = last_.reference[scene.lanes.reference->id];
  if (last.position == reference->position) return;
  last = {reference->position, differing_options(*reference, *candidate)};
  last_.candidate[scene.lanes.candidate->id] = last;
}

std::vector<ArgumentReport> OptimizerOptions::around(const Scene& scene, EventPair at) const {
  const Side side = at.reference != kNoIndex ? Side::reference : Side::candidate;
  const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
  const bool inside = (on(scene.windows, side)->event(index).flags & event_flag::in_optimizer) != 0;
  const auto last = on(last_, side).find(on(scene.lanes, side)->id);
  return inside && last != on(last_, side).end() ? last->second.differing
                                                 : std::vector<ArgumentReport>();
}

}  // namespace ulpscope::comparison
