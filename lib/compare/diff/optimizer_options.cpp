#include "compare/diff/optimizer_options.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "compare/align/argument_pairs.hpp"
#include "compare/model/hash.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] std::vector<ArgumentReport> differing_options(const Event& reference,
                                                            const Event& candidate) {
  // A dump of an earlier version has none.
  if (reference.argument_bytes.empty() || candidate.argument_bytes.empty()) return {};
  std::vector<ArgumentReport> differing;
  const std::string optimizer(reference.op.substr(0, reference.op.find("::")));
  for_each_other_argument(
      arguments(reference), arguments(candidate),
      [](const Argument& one, const Argument& other) { return one.name == other.name; },
      [&](const Argument&, ArgumentReport report) {
        // A dump of an earlier version does not say how many tensors there are.
        if (report.name == kParams && !(report.reference && report.candidate)) return;
        report.of = optimizer;
        differing.push_back(std::move(report));
      });
  return differing;
}

[[nodiscard]] std::vector<std::uint32_t> steps_of(const Window& window,
                                                  std::string_view optimizer) {
  std::vector<std::uint32_t> steps;
  for (std::uint32_t index = 0; index < window.size(); ++index)
    if (window.event(index).kind == EventKind::optimizer && window.event(index).op == optimizer)
      steps.push_back(index);
  return steps;
}

[[nodiscard]] std::uint32_t partner_of(const Window& window, std::uint32_t step,
                                       const Window& other) {
  const std::string_view optimizer = window.event(step).op;
  const auto steps = steps_of(window, optimizer);
  const auto others = steps_of(other, optimizer);
  const auto which = std::find(steps.begin(), steps.end(), step) - steps.begin();
  return which < std::ssize(others) ? others[static_cast<std::size_t>(which)] : kNoIndex;
}

}  // namespace

std::uint32_t optimizer_around(const Window& window, std::uint32_t index) {
  while (index != kNoIndex && window.event(index).kind != EventKind::optimizer)
    index = window.parent(index);
  return index;
}

EventPair steps_around(const Scene& scene, EventPair at) {
  const auto& [reference, candidate] = scene.windows;
  EventPair steps{optimizer_around(*reference, at.reference),
                  optimizer_around(*candidate, at.candidate)};
  if (at.candidate == kNoIndex && steps.reference != kNoIndex)
    steps.candidate = partner_of(*reference, steps.reference, *candidate);
  if (at.reference == kNoIndex && steps.candidate != kNoIndex)
    steps.reference = partner_of(*candidate, steps.candidate, *reference);
  return steps;
}

std::vector<ArgumentReport> other_options(const Scene& scene, EventPair at) {
  const EventPair steps = steps_around(scene, at);
  if (steps.reference == kNoIndex || steps.candidate == kNoIndex) return {};
  return differing_options(scene.windows.reference->event(steps.reference),
                           scene.windows.candidate->event(steps.candidate));
}

std::uint64_t OptionKeys::of(const Scene& scene, EventPair at,
                             const std::vector<ArgumentReport>& options) {
  KeyHash which;
  KeyHash values;
  const std::uint32_t step = steps_around(scene, at).reference;
  if (step != kNoIndex) which.add(scene.windows.reference->event(step).object);
  for (const ArgumentReport& option : options) {
    which.add(option.name);
    values.add(option.name).add(option.reference.value_or("")).add(option.candidate.value_or(""));
  }
  return known_.try_emplace(which.value(), values.value()).first->second;
}

}  // namespace ulpscope::comparison
