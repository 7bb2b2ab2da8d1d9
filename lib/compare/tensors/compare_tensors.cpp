#include "ulpscope/compare_tensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "compare/measure/tolerance.hpp"
#include "compare/measure/value_pair.hpp"
#include "compare/measure/value_study.hpp"
#include "compare/model/side.hpp"
#include "compare/model/words.hpp"
#include "compare/tensors/layouts.hpp"
#include "compare/tensors/tensor_pairs.hpp"
#include "core/counts.hpp"
#include "core/module_path.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::size_t kMostFindings = 1000;

/// Two partners, and the candidate's dimensions in the reference's order.
struct TensorPair {
  Both<const StoredTensor*> tensors;
  Both<std::size_t> indices;
  std::vector<std::size_t> axes;
};

[[nodiscard]] std::vector<std::int64_t> shape_along(const StoredTensor& tensor,
                                                    const std::vector<std::size_t>& axes) {
  std::vector<std::int64_t> shape;
  for (const std::size_t axis : axes) shape.push_back(tensor.shape.at(axis));
  return shape;
}

[[nodiscard]] bool is_equal(const ValuePair& pair) {
  bool equal = true;
  pair.for_each_piece([&](ValuePair::Piece reference, ValuePair::Piece candidate) {
    equal = std::equal(reference.begin(), reference.end(), candidate.begin(), candidate.end());
    return equal;
  });
  return equal;
}

/// What no tolerance lets pass comes first.
[[nodiscard]] bool is_outside(const Finding& finding) {
  const std::optional<ToleranceResult>& tolerance = finding.tensors.front().tolerance;
  return !tolerance || !tolerance->inside;
}

[[nodiscard]] RunSummary summary_of(const TensorFile& file) {
  RunSummary summary;
  summary.path = file.path().string();
  summary.format = file.format();
  summary.complete = true;
  summary.values = file.tensors().size();
  return summary;
}

class TensorComparison {
 public:
  TensorComparison(const Both<const TensorFile*>& files, const CompareOptions& options,
                   const std::vector<LayoutChange>& layouts)
      : files_(files), options_(options), layouts_(layouts), tolerance_(options) {
    report_.tensors.emplace();
    report_.reference = summary_of(*files_.reference);
    report_.candidate = summary_of(*files_.candidate);
    rules_ = tolerance_.rules();
  }

  [[nodiscard]] Report report() {
    const TensorPairs pairs = pair_tensors(*files_.reference, *files_.candidate, options_);
    report_.coverage.aligned = pairs.pairs.size();
    report_.coverage.only_reference = pairs.only_reference.size();
    report_.coverage.only_candidate = pairs.only_candidate.size();
    report_.coverage.not_compared.ignored = pairs.ignored;
    for (const TensorPairs::Pair& pair : pairs.pairs) compare(pair);
    for (const std::size_t index : pairs.only_reference) only_in(Side::reference, index);
    for (const std::size_t index : pairs.only_candidate) only_in(Side::candidate, index);
    for (const Side side : kSides)
      for (const std::size_t index : on(pairs.behind_unreadable, side))
        behind_unreadable(side, index);
    for (const Side side : kSides)
      if (const std::uint64_t plain = on(pairs.plain, side); plain > 0)
        report_.coverage.unseen.push_back(fmt::format(
            "{} of the {}, which the other file has none of",
            core::counted(plain, "number, text or None", "numbers, texts and None"), name(side)));
    for (const ModuleRename* rename : pairs.unused)
      report_.coverage.unseen.push_back(fmt::format("no tensor of the candidate fits {} -> {}",
                                                    rename->reference, rename->candidate));
    for (const std::string& layout : layouts_.unused())
      report_.coverage.unseen.push_back(
          fmt::format("no tensor of the reference that was compared fits --layout {}", layout));
    if (left_out_ > 0)
      report_.coverage.unseen.push_back(fmt::format("{} more that differ {} counted and not listed",
                                                    core::grouped(left_out_),
                                                    left_out_ == 1 ? "is" : "are"));
    std::stable_partition(report_.findings.begin(), report_.findings.end(), is_outside);
    report_.rules = std::move(rules_);
    conclude();
    return std::move(report_);
  }

 private:
  void compare(const TensorPairs::Pair& indices) {
    const TensorPair pair = partners(indices);
    for (const Side side : kSides) {
      const StoredTensor& tensor = *on(pair.tensors, side);
      if (!tensor.unreadable.empty()) return not_compared(side, tensor, tensor.unreadable);
    }
    const StoredTensor& reference = *pair.tensors.reference;
    const StoredTensor& candidate = *pair.tensors.candidate;
    if (reference.dtype != candidate.dtype || reference.shape != shape_along(candidate, pair.axes))
      return other_type(pair);
    ++report_.tensors->compared;
    const ValuePair values = open(pair);
    if (!is_equal(values)) differ(pair, values);
  }

  void behind_unreadable(Side side, std::size_t index) {
    const StoredTensor& tensor = on(files_, side)->tensors()[index];
    not_compared(side, tensor,
                 tensor.unreadable.empty() ? "may be where the other file has what is not followed"
                                           : tensor.unreadable);
  }

  void not_compared(Side side, const StoredTensor& tensor, std::string_view why) {
    report_.coverage.unseen.push_back(fmt::format("{} of the {} {}", tensor.name, name(side), why));
    ++report_.coverage.not_compared.opaque;
  }

  [[nodiscard]] TensorPair partners(const TensorPairs::Pair& indices) {
    TensorPair pair;
    pair.indices = {indices.reference, indices.candidate};
    for (const Side side : kSides)
      on(pair.tensors, side) = &on(files_, side)->tensors()[on(pair.indices, side)];
    pair.axes = layouts_.candidate_axes(tensor_path(pair.tensors.reference->name),
                                        pair.tensors.candidate->shape.size());
    return pair;
  }

  [[nodiscard]] ValuePair open(const TensorPair& pair) const {
    const auto opener = [&](Side side, std::vector<std::size_t> axes) {
      return [file = on(files_, side), index = on(pair.indices, side), axes = std::move(axes)] {
        return file->open(index, axes);
      };
    };
    const StoredTensor& tensor = *pair.tensors.reference;
    return {tensor.dtype,
            tensor.shape,
            {opener(Side::reference, same_axes(tensor.shape.size())),
             opener(Side::candidate, pair.axes)}};
  }

  void differ(const TensorPair& pair, const ValuePair& values) {
    ++report_.tensors->differing;
    const StoredTensor& tensor = *pair.tensors.reference;
    const std::string path = tensor_path(tensor.name);
    const auto rule = tolerance_.rule_for(
        [&] { return ValueNames{.ops = {}, .module = path, .op = {}, .tensor = {}}; });
    ValueQuestion question;
    question.evidence = true;
    if (tolerance_.any()) question.limits = tolerance_.limits(rule);
    const ValueAnswer answer = study(values, question);
    Finding finding = finding_of(FindingKind::parameter, pair.tensors.reference,
                                 pair.tensors.candidate, pair.axes);
    TensorReport& reported = finding.tensors.front();
    reported.difference = answer.difference;
    if (answer.inside) {
      reported.tolerance = ToleranceResult{*answer.inside, rule};
      if (*answer.inside) ++report_.tensors->inside;
      if (rule) ++(*answer.inside ? rules_[*rule].passed : rules_[*rule].failed);
    }
    finding.event = {pair.indices.reference, pair.indices.candidate};
    add_notes(answer, tensor, finding);
    keep(std::move(finding));
  }

  static void add_notes(const ValueAnswer& answer, const StoredTensor& tensor, Finding& finding) {
    if (answer.rows_permuted)
      finding.notes.emplace_back(
          "both have the same rows of the first dimension, in another order");
    else if (answer.numbers_permuted && tensor.shape.size() > 1)
      finding.notes.emplace_back(
          "both have the same numbers in another order: if the candidate's dimensions are "
          "permuted, --layout compares them as they belong together");
    else if (answer.numbers_permuted)
      finding.notes.emplace_back("both have the same numbers in another order");
    if (answer.ratio)
      finding.notes.push_back(fmt::format("the candidate is {} times the reference",
                                          core::short_number(*answer.ratio)));
  }

  void other_type(const TensorPair& pair) {
    ++report_.tensors->other_type;
    const StoredTensor& reference = *pair.tensors.reference;
    const StoredTensor& candidate = *pair.tensors.candidate;
    Finding finding = finding_of(FindingKind::metadata, &reference, &candidate, pair.axes);
    finding.event = {pair.indices.reference, pair.indices.candidate};
    if (reference.dtype != candidate.dtype)
      finding.arguments.push_back({"dtype", std::string(ulpscope::name(reference.dtype)),
                                   std::string(ulpscope::name(candidate.dtype))});
    const auto sorted = [](std::vector<std::int64_t> shape) {
      std::sort(shape.begin(), shape.end());
      return shape;
    };
    const std::vector<std::int64_t> shape = shape_along(candidate, pair.axes);
    if (shape != reference.shape && sorted(shape) == sorted(reference.shape))
      finding.notes.emplace_back(
          "the dimensions are the same in another order: --layout compares them as they belong "
          "together");
    keep(std::move(finding));
  }

  void only_in(Side side, std::size_t index) {
    const StoredTensor& tensor = on(files_, side)->tensors()[index];
    const StoredTensor* const reference = side == Side::reference ? &tensor : nullptr;
    const StoredTensor* const candidate = side == Side::candidate ? &tensor : nullptr;
    Finding finding =
        finding_of(FindingKind::sequence, reference, candidate, same_axes(tensor.shape.size()));
    on(finding.event, side) = index;
    if (!tensor.unreadable.empty()) finding.notes.push_back("it " + tensor.unreadable);
    keep(std::move(finding));
  }

  [[nodiscard]] static Finding finding_of(FindingKind kind, const StoredTensor* reference,
                                          const StoredTensor* candidate,
                                          const std::vector<std::size_t>& axes) {
    const StoredTensor& tensor = reference != nullptr ? *reference : *candidate;
    Finding finding;
    finding.kind = kind;
    finding.of_file = true;
    finding.module = std::string(core::path_around(tensor_path(tensor.name)));
    TensorReport& reported = finding.tensors.emplace_back();
    reported.name = tensor.name;
    reported.dtype = tensor.dtype;
    reported.equal = false;
    if (reference != nullptr) reported.shape.reference = reference->shape;
    if (candidate != nullptr) reported.shape.candidate = shape_along(*candidate, axes);
    return finding;
  }

  void keep(Finding finding) {
    if (report_.findings.size() < kMostFindings)
      report_.findings.push_back(std::move(finding));
    else
      ++left_out_;
  }

  void conclude() {
    report_.verdict = verdict();
    report_.summary =
        fmt::format("{}: {}", ulpscope::name(report_.verdict),
                    report_.verdict == Verdict::inconclusive ? why_inconclusive() : counts());
  }

  [[nodiscard]] Verdict verdict() const {
    const TensorTotals& totals = *report_.tensors;
    const Coverage& coverage = report_.coverage;
    if (coverage.aligned == 0) return Verdict::inconclusive;
    if (totals.differing > totals.inside || totals.other_type > 0 || coverage.only_reference > 0 ||
        coverage.only_candidate > 0)
      return Verdict::diverged;
    if (coverage.not_compared.opaque > 0) return Verdict::inconclusive;
    return totals.differing > 0 ? Verdict::within : Verdict::identical;
  }

  [[nodiscard]] std::string why_inconclusive() const {
    for (const Side side : kSides)
      if (on(files_, side)->tensors().empty())
        return fmt::format("the {} has no tensors", name(side));
    const std::uint64_t opaque = report_.coverage.not_compared.opaque;
    if (report_.coverage.aligned == 0)
      return report_.coverage.not_compared.ignored > 0
                 ? "every tensor is ignored, or has no partner"
                 : "no name is in both files";
    const std::string others = counts();
    return fmt::format("{} cannot be compared (--ignore leaves {} out){}{}",
                       core::counted(opaque, "tensor"), opaque == 1 ? "it" : "them",
                       others.empty() ? ", and there are no others" : "; the others: ", others);
  }

  /// "3 of 62 tensors differ, 1 is in the candidate only".
  [[nodiscard]] std::string counts() const {
    const TensorTotals& totals = *report_.tensors;
    const Coverage& coverage = report_.coverage;
    std::vector<std::string> parts;
    const auto add = [&](std::uint64_t count, std::string_view one, std::string_view many) {
      if (count > 0)
        parts.push_back(fmt::format("{} {}", core::grouped(count), count == 1 ? one : many));
    };
    if (totals.differing > 0)
      parts.push_back(fmt::format("{} of {} {}{}", core::grouped(totals.differing),
                                  core::counted(totals.compared, "tensor"),
                                  totals.differing == 1 ? "differs" : "differ", inside_words()));
    else if (report_.verdict == Verdict::identical)
      parts.push_back(fmt::format("{}, every bit", core::counted(totals.compared, "tensor")));
    else
      add(totals.compared, "tensor is equal", "tensors are equal");
    add(totals.other_type, "has another dtype or shape", "have another dtype or shape");
    add(coverage.only_reference, "is in the reference only", "are in the reference only");
    add(coverage.only_candidate, "is in the candidate only", "are in the candidate only");
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  [[nodiscard]] std::string inside_words() const {
    const TensorTotals& totals = *report_.tensors;
    if (!tolerance_.any() || totals.differing == 0) return {};
    if (totals.inside == totals.differing) return ", inside the tolerance";
    return fmt::format(", {} outside the tolerance",
                       core::grouped(totals.differing - totals.inside));
  }

  Both<const TensorFile*> files_;
  const CompareOptions& options_;
  Layouts layouts_;
  Tolerance tolerance_;
  std::vector<RuleUse> rules_;
  std::uint64_t left_out_ = 0;  ///< findings that were not kept
  Report report_;
};

}  // namespace
}  // namespace ulpscope::comparison

namespace ulpscope {

Report compare_tensors(const TensorFile& reference, const TensorFile& candidate,
                       const CompareOptions& options, const std::vector<LayoutChange>& layouts) {
  return comparison::TensorComparison({&reference, &candidate}, options, layouts).report();
}

}  // namespace ulpscope
