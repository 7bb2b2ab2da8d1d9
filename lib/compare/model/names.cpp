#include <algorithm>
#include <string_view>

#include "compare/model/words.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope {

std::string_view name(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::identical:
      return "identical";
    case Verdict::within:
      return "within";
    case Verdict::diverged:
      return "diverged";
    case Verdict::inconclusive:
      return "inconclusive";
  }
  return "";
}

bool gives_tensor(const Finding& finding, const ArgumentReport& argument) {
  const auto is_number = [](const std::optional<std::string>& text) {
    return text && (comparison::number_in(*text) || text->starts_with("(a number"));
  };
  return !is_number(argument.reference) && !is_number(argument.candidate) &&
         std::any_of(finding.tensors.begin(), finding.tensors.end(),
                     [&](const auto& tensor) { return tensor.name == argument.name; });
}

bool inside_tolerance(const Finding& finding) {
  const auto differs = [](const TensorReport& tensor) { return !tensor.equal; };
  const auto outside = [](const TensorReport& tensor) {
    return !tensor.equal && !(tensor.tolerance && tensor.tolerance->inside);
  };
  const auto& tensors = finding.tensors;
  return std::any_of(tensors.begin(), tensors.end(), differs) &&
         std::none_of(tensors.begin(), tensors.end(), outside);
}

bool judged_on_own_inputs(const Finding& finding) {
  const auto outside = [](const TensorReport& tensor) {
    return tensor.difference && tensor.difference->budget && tensor.difference->budget->own &&
           !tensor.difference->budget->inside;
  };
  const auto other_input = [](const TensorReport& tensor) {
    return tensor.role == Role::input && !tensor.equal;
  };
  // If one run computes by a different op, its result was compared with nothing else.
  const bool alone = finding.event.reference.has_value() != finding.event.candidate.has_value();
  if (finding.kind != FindingKind::origin || alone) return finding.kind == FindingKind::origin;
  return std::any_of(finding.tensors.begin(), finding.tensors.end(), outside) &&
         std::any_of(finding.tensors.begin(), finding.tensors.end(), other_input);
}

std::string_view name(FindingKind kind) noexcept {
  switch (kind) {
    case FindingKind::origin:
      return "origin";
    case FindingKind::arguments:
      return "arguments";
    case FindingKind::sequence:
      return "sequence";
    case FindingKind::rng:
      return "rng";
    case FindingKind::data:
      return "data";
    case FindingKind::parameter:
      return "parameter";
    case FindingKind::write:
      return "write";
    case FindingKind::metadata:
      return "metadata";
  }
  return "";
}

std::string_view name(ModelAspect aspect) noexcept {
  switch (aspect) {
    case ModelAspect::type:
      return "type";
    case ModelAspect::tensor:
      return "tensor";
    case ModelAspect::shape:
      return "shape";
    case ModelAspect::dtype:
      return "dtype";
    case ModelAspect::requires_grad:
      return "requires_grad";
  }
  return "";
}

std::string_view name(RankMatch match) noexcept {
  switch (match) {
    case RankMatch::number:
      return "number";
    case RankMatch::declared:
      return "declared";
    case RankMatch::creation:
      return "creation";
    case RankMatch::content:
      return "content";
  }
  return "";
}

std::string_view name(Confidence confidence) noexcept {
  switch (confidence) {
    case Confidence::certain:
      return "certain";
    case Confidence::likely:
      return "likely";
    case Confidence::possible:
      return "possible";
  }
  return "";
}

}  // namespace ulpscope
