#include "compare/report/meaning.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "compare/diff/optimizer_options.hpp"
#include "compare/model/words.hpp"

namespace ulpscope::comparison {
namespace {

/// An optimizer is set otherwise: "lr of SGD is 0.05 and 0.06".
[[nodiscard]] std::string options(const Case& of) {
  std::vector<std::string> parts;
  for (const ArgumentReport& option : of.finding().arguments)
    if (!option.of.empty())
      parts.push_back(fmt::format(
          "{}{} {} and {}", option.name, parts.empty() ? fmt::format(" of {} is", option.of) : "",
          option.reference.value_or("missing"), option.candidate.value_or("missing")));
  return fmt::format("{}", fmt::join(parts, ", "));
}

[[nodiscard]] bool sets_more_than_params(const Case& of) {
  const auto& options = of.finding().arguments;
  return std::any_of(options.begin(), options.end(), [](const ArgumentReport& option) {
    return !option.of.empty() && option.name != kParams;
  });
}

/// The same, where it is more than how many tensors it has.
[[nodiscard]] std::string settings(const Case& of) {
  return sets_more_than_params(of) ? options(of) : std::string();
}

/// A tensor of the model has another shape: "stem.weight is [8, 3, 3, 3] and [12, 3, 3, 3]".
[[nodiscard]] std::string shape(const Case& of) {
  for (const ModelDifference& model : of.report().models) {
    const bool is_here = std::any_of(
        of.finding().tensors.begin(), of.finding().tensors.end(), [&](const TensorReport& tensor) {
          return !tensor.equal && tensor.name == model.path && model.what == ModelAspect::shape;
        });
    if (is_here)
      return fmt::format("{} is {} and {}", model.path, *model.reference, *model.candidate);
  }
  return {};
}

/// Parameters of one run get no gradient: "layer1.conv.weight gets no gradient in the candidate".
[[nodiscard]] std::string gradients(const Case& of) {
  const auto& other = of.runs().gradients;
  const Finding& finding = of.finding();
  const bool may_say_so = finding.phase == Phase::backward || finding.phase == Phase::optimizer;
  if (!other || !may_say_so || finding.step != other->step) return {};
  for (const Side side : kSides) {
    const auto& only = on(other->only, side);
    if (only.empty()) continue;
    std::vector<std::string> parameters;
    for (const std::string& gradient : only) parameters.emplace_back(parameter_of(gradient));
    return fmt::format("{} {} no gradient in the {}", listed(parameters, 3),
                       parameters.size() == 1 ? "gets" : "get", name(the_other(side)));
  }
  return {};
}

/// Gradients of one run add up to those that were there: "fc.weight.grad is added to what it held
/// in the candidate only".
[[nodiscard]] std::string accumulation(const Case& of) {
  const auto& parents = of.finding().parents;
  if (!of.is(FindingKind::sequence) ||
      std::find(parents.begin(), parents.end(), "torch::autograd::AccumulateGrad") == parents.end())
    return {};
  for (const Side side : kSides) {
    const auto& ops = on(of.evidence().alone, side);
    const auto& others = on(of.evidence().alone, the_other(side));
    const auto adds = [](const std::string& op) { return op == "aten::add_" || op == "aten::add"; };
    if (std::none_of(ops.begin(), ops.end(), adds) ||
        std::any_of(others.begin(), others.end(), adds))
      continue;
    const auto& names = on(of.evidence().alone_names, side);
    const auto gradient = std::find_if(names.begin(), names.end(), [](const std::string& name) {
      return !parameter_of(name).empty();
    });
    return fmt::format("{} is added to what it held in the {} only",
                       gradient == names.end() ? "a gradient" : *gradient, name(side));
  }
  return {};
}

/// An optimizer of one run leaves parameters out: "fc.weight is not updated in the candidate"; or
/// updates them more often, or at another place.
[[nodiscard]] std::string updates(const Case& of) {
  if (!of.is(FindingKind::sequence) || of.finding().phase != Phase::optimizer) return {};
  for (const Side side : kSides) {
    const auto& updated = on(of.evidence().alone_updates, side);
    if (updated.empty() || !on(of.evidence().alone_updates, the_other(side)).empty()) continue;
    const std::string_view are = updated.size() == 1 ? "is" : "are";
    if (of.evidence().moved)
      return fmt::format("{} {} updated here in the {}, elsewhere in the {}", listed(updated, 3),
                         are, name(side), name(the_other(side)));
    if (of.evidence().updated_again)
      return fmt::format("{} {} updated again in the {}", listed(updated, 3), are, name(side));
    return fmt::format("{} {} not updated in the {}", listed(updated, 3), are,
                       name(the_other(side)));
  }
  return {};
}

/// Ops of one run initialize a tensor of the model again.
[[nodiscard]] std::string initialization(const Case& of) {
  if (!of.is(FindingKind::sequence) || of.finding().step) return {};
  for (const Side side : kSides)
    if (const auto& written = on(of.evidence().alone_written, side); !written.empty())
      return fmt::format("{} {} {} in the {} only", of.finding().op,
                         facts::Op(of.finding().op).is_in_place() ? "writes" : "makes",
                         listed(written, 3), name(side));
  return {};
}

/// The same memory is viewed differently: "aten::log_softmax reads self in a different order".
[[nodiscard]] std::string order(const Case& of) {
  const std::string& input = of.evidence().reordered;
  return input.empty() ? ""
                       : fmt::format("{} reads {} in a different order", of.finding().op, input);
}

/// The program runs one step more: "the whole step runs in the reference only".
[[nodiscard]] std::string step(const Case& of) {
  if (!of.evidence().whole_step) return {};
  return fmt::format("the whole step runs in the {} only",
                     name(of.finding().event.reference ? Side::reference : Side::candidate));
}

[[nodiscard]] std::string result(const Case& of) {
  return of.evidence().returned ? of.finding().op + " returns a different tensor" : "";
}

/// In the order of what says most.
constexpr auto kReadings = std::to_array<std::string (*)(const Case&)>(
    {step, result, settings, shape, gradients, accumulation, updates, options, initialization,
     order});

}  // namespace

std::string meaning(const Case& of) {
  if (!of.is(FindingKind::arguments) && !of.is(FindingKind::sequence) &&
      !of.is(FindingKind::metadata))
    return {};
  for (const auto reading : kReadings)
    if (std::string words = reading(of); !words.empty()) return words;
  return {};
}

}  // namespace ulpscope::comparison
