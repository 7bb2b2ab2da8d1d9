#include "cli/render/wording.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "cli/term/escape.hpp"
#include "compare/model/words.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

bool only_candidate(const Finding& finding) {
  return !finding.event.reference.has_value() && finding.event.candidate.has_value();
}

bool differs(const TensorReport& tensor) { return tensor.role == Role::input && !tensor.equal; }

/// The argument that is among the tensors that are listed; null if there is none. One with a text
/// is a number that travelled as a tensor.
const ArgumentReport* given_tensor(const Finding& finding) {
  const auto given = std::find_if(
      finding.arguments.begin(), finding.arguments.end(), [&](const ArgumentReport& argument) {
        return std::any_of(finding.tensors.begin(), finding.tensors.end(),
                           [&](const auto& tensor) { return tensor.name == argument.name; });
      });
  return given == finding.arguments.end() ? nullptr : &*given;
}

/// A module returns another one of the results that both runs have: no argument of an op is called
/// so.
bool returns_tensor(const Finding& finding) {
  return !finding.arguments.empty() && comparison::is_output(finding.arguments.front().name);
}

bool writes_file(const Finding& finding) {
  constexpr std::array kWriters = {std::string_view("torch.save"), kSave};
  return !finding.arguments.empty() &&
         (finding.op == kSave ||
          std::ranges::find(kWriters, finding.arguments.front().of) != kWriters.end());
}

bool reads_differences(const Finding& finding) {
  return std::any_of(finding.tensors.begin(), finding.tensors.end(), differs);
}

/// Of the tensors that are listed.
bool all_equal(const Finding& finding) {
  return std::all_of(finding.tensors.begin(), finding.tensors.end(),
                     [](const TensorReport& tensor) { return tensor.equal; });
}

std::string headline_of_tensor(const Finding& finding) {
  if (finding.kind == FindingKind::sequence)
    return fmt::format("this tensor is in the {} only",
                       only_candidate(finding) ? "candidate" : "reference");
  if (finding.kind == FindingKind::parameter) return "the values of this tensor differ";
  return finding.arguments.empty() ? "the shape of this tensor differs"
                                   : "the dtype of this tensor differs";
}

/// A call of a module, whose arguments are not recorded.
bool is_call(const Finding& finding) { return finding.op.ends_with("::forward"); }

[[nodiscard]] std::string path_of(std::optional<std::int64_t> step, std::uint64_t event) {
  return step ? fmt::format("{}/{}", *step, event) : fmt::format("setup/{}", event);
}

[[nodiscard]] std::string absorbed_words(const Absorbed& absorbed) {
  const auto& [reference, candidate] = absorbed.event;
  return fmt::format("what differs because of it ends at {} ({}event {})", escaped(absorbed.op),
                     reference ? "" : "candidate ",
                     path_of(absorbed.step, reference.value_or(candidate.value_or(0))));
}

/// What follows from an op that one run alone has.
[[nodiscard]] std::string consequence(const Finding& finding) {
  if (finding.absorbed) return ", and " + absorbed_words(*finding.absorbed);
  if (finding.diverges) return "";
  return finding.shifts_draws ? ", and shifts what is drawn after it"
                              : ", and no difference follows from it";
}

}  // namespace

std::string module_place(const Finding& finding, const Report& report) {
  if (!finding.module.has_value()) {
    const auto& [before, after] = finding.between.value_or(Both<std::string>{});
    if (before.empty() && after.empty()) return "no module";
    if (after.empty()) return fmt::format("after {}", escaped(before));
    if (before.empty()) return fmt::format("before {}", escaped(after));
    return between_words(*finding.between);
  }
  if (finding.module->empty()) return fmt::format("{} (root module)", escaped(finding.root));
  std::string result = escaped(*finding.module);
  if (report.coverage.roots > 1 && !finding.root.empty())
    result = fmt::format("{}.{}", escaped(finding.root), result);
  if (!finding.module_type.empty()) result += fmt::format(" ({})", escaped(finding.module_type));
  return result;
}

std::string between_words(const Both<std::string>& modules) {
  if (modules.reference == modules.candidate)
    return fmt::format("between ops of {}", escaped(modules.reference));
  return fmt::format("between {} and {}", escaped(modules.reference), escaped(modules.candidate));
}

bool is_error(const Finding& finding, const Report& report) {
  if (!finding.diverges || report.verdict == Verdict::within) return false;
  return !inside_tolerance(finding) || &finding == report.first();
}

std::string headline(const Finding& finding) {
  if (finding.of_file) return headline_of_tensor(finding);
  switch (finding.kind) {
    case FindingKind::origin:
      if (finding.op.empty())
        return "everything before is equal: the runs diverge outside of modules";
      if (judged_on_own_inputs(finding))
        return "its inputs differ already, but do not explain its result";
      if (is_call(finding))
        return "identical inputs, different result: the runs diverge in this call";
      return "identical inputs and arguments, different result: the runs diverge at this op";
    case FindingKind::arguments:
      if (writes_file(finding)) return "the program writes something else to a file";
      if (comparison::is_end(finding.op))
        return "an optimizer is saved, or left, with other hyperparameters than in its last step";
      if (finding.absorbed) return "different arguments" + consequence(finding);
      if (const ArgumentReport* const given = given_tensor(finding))
        return fmt::format("the program gives this op a different {}: the runs diverge here",
                           gives_tensor(finding, *given) ? "tensor" : "number");
      if (returns_tensor(finding))
        return "the program returns a different tensor here: the runs diverge";
      if (reads_differences(finding)) return "its inputs differ already, and its arguments too";
      return "identical inputs, different arguments: the runs diverge at this op";
    case FindingKind::sequence:
      if (finding.goes_on)
        return fmt::format("the {} goes on here, where the {} has ended",
                           only_candidate(finding) ? "candidate" : "reference",
                           only_candidate(finding) ? "reference" : "candidate");
      return fmt::format("this op runs in the {} only{}",
                         only_candidate(finding) ? "candidate" : "reference", consequence(finding));
    case FindingKind::rng:
      return comparison::is_end(finding.op)
                 ? "a random generator is in another state when the run ends"
                 : "the RNG state before this op differs";
    case FindingKind::data:
      return "this op reads a tensor that differs, which no recorded op explains";
    case FindingKind::parameter:
      return "a parameter or buffer differs at its first use";
    case FindingKind::write:
      return "a tensor changed between its last recorded write and this read, in one run only";
    case FindingKind::metadata:
      if (finding.diverges) return "dtype or shape differs: the values cannot be compared";
      return all_equal(finding) ? "layout or device differs, the values are equal"
                                : "layout or device differs";
  }
  return "the runs differ here";
}

std::string rank_name(const Report& report, std::uint32_t rank) {
  const auto pair =
      std::find_if(report.rank_pairs.begin(), report.rank_pairs.end(),
                   [rank](const RankPair& one) { return one.numbers.reference == rank; });
  if (pair == report.rank_pairs.end()) return fmt::format("rank {}", rank);
  const RankIdentity& identity = pair->identity;
  if (identity.restart > 0)
    return fmt::format("rank {} (its process {})", identity.rank, identity.restart + 1);
  if (identity.creator && identity.declared.empty())
    return fmt::format("rank {} (a process of rank {})", rank, *identity.creator);
  return fmt::format("rank {}", rank);
}

std::string rank_matches(const Report& report) {
  std::array<std::uint64_t, 4> counts{};
  for (const RankPair& pair : report.rank_pairs) ++counts.at(static_cast<std::size_t>(pair.by));
  const auto count = [&](RankMatch match) { return counts.at(static_cast<std::size_t>(match)); };
  if (count(RankMatch::creation) + count(RankMatch::content) == 0) return {};
  std::vector<std::string> parts;
  const auto add = [&](RankMatch match, std::string_view how) {
    if (count(match) != 0) parts.push_back(fmt::format("{} {}", core::grouped(count(match)), how));
  };
  add(RankMatch::declared, "by the rank they declare");
  add(RankMatch::creation, "by creator and order of creation");
  add(RankMatch::content, "by what they compute");
  add(RankMatch::number, "by number");
  return fmt::format("matched {}", fmt::join(parts, ", "));
}

std::string place(const Finding& finding, const Report& report) {
  if (finding.of_file) return escaped(finding.tensors.front().name);
  std::vector<std::string> parts;
  if (std::max(report.reference.ranks, report.candidate.ranks) > 1)
    parts.push_back(rank_name(report, finding.rank));
  if (finding.step.has_value()) parts.push_back(fmt::format("step {}", *finding.step));
  parts.emplace_back(name(finding.phase));
  const bool usual_lane = finding.lane.empty() || finding.lane == "main" ||
                          (finding.lane == "autograd" && finding.phase == Phase::backward);
  if (!usual_lane) parts.push_back(escaped(finding.lane));
  parts.push_back(module_place(finding, report));
  return fmt::format("{}", fmt::join(parts, " / "));
}

std::string event_path(const Finding& finding, std::uint64_t event) {
  return path_of(finding.step, event);
}

std::string event_numbers(const Finding& finding) {
  if (finding.of_file) return {};
  const auto& [reference, candidate] = finding.event;
  if (reference && candidate && *reference != *candidate)
    return fmt::format("event {} (candidate {})", event_path(finding, *reference), *candidate);
  if (reference) return fmt::format("event {}", event_path(finding, *reference));
  if (candidate) return fmt::format("candidate event {}", event_path(finding, *candidate));
  return {};
}

std::string op_name(const Finding& finding) {
  if (finding.of_file) return "tensor";
  if (finding.op.empty()) return "ops outside of modules";
  std::string result = escaped(finding.op);
  if (!finding.overload.empty()) result += fmt::format(".{}", escaped(finding.overload));
  return result;
}

std::string slot_label(const TensorReport& tensor) {
  std::string label;
  switch (tensor.role) {
    case Role::input:
      label = tensor.name.empty() ? fmt::format("in {}", tensor.index) : "in";
      break;
    case Role::output:
      label = fmt::format("out {}", tensor.index);
      break;
    case Role::mutated:
      label = tensor.name.empty() ? fmt::format("mut {}", tensor.index) : "mut";
      break;
  }
  return tensor.element == 0 ? label : fmt::format("{} [{}]", label, tensor.element);
}

std::string slot_title(const TensorReport& tensor) {
  const std::string label = slot_label(tensor);
  return tensor.name.empty() ? label : fmt::format("{} {}", label, escaped(tensor.name));
}

std::string type_and_shape(const TensorReport& tensor) {
  const auto& [reference, candidate] = tensor.shape;
  std::string result = fmt::format("{} {}", escaped(name(tensor.dtype)), shape_text(reference));
  if (reference != candidate) result += fmt::format(" -> {}", shape_text(candidate));
  return result;
}

std::string outcome(const TensorReport& tensor) {
  if (tensor.equal) return "identical";
  if (tensor.shape.reference != tensor.shape.candidate) return "shape differs";
  if (!tensor.difference.has_value()) return "differs";
  const Difference& difference = *tensor.difference;
  return fmt::format("{} of {} differ ({})", core::grouped(difference.differing),
                     core::grouped(difference.elements),
                     core::percentage(difference.differing, difference.elements));
}

std::string distance(const Difference& difference) {
  std::string result = fmt::format("{} ULP, {} absolute", core::grouped(difference.ulp_max),
                                   core::short_number(difference.absolute_max));
  if (difference.scaled_max) {
    result += fmt::format(", {} scaled", core::short_number(*difference.scaled_max));
  }
  return result;
}

const Cause* first_cause(const Report& report, std::size_t finding) {
  const auto cause = std::find_if(report.causes.begin(), report.causes.end(),
                                  [finding](const Cause& one) { return one.finding == finding; });
  return cause == report.causes.end() || cause->id == "unknown" ? nullptr : &*cause;
}

std::string findings_in_words(const Report& report) {
  std::array<std::uint64_t, 8> counts{};
  std::uint64_t total = 0;
  for (const Finding& finding : report.findings) {
    if (!finding.diverges) continue;
    ++counts.at(static_cast<std::size_t>(finding.kind));
    ++total;
  }
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const std::string_view kind = name(static_cast<FindingKind>(i));
    const bool says_nothing_new = counts[i] == 1 || counts[i] == total;
    parts.push_back(says_nothing_new ? std::string(kind) : fmt::format("{} {}", counts[i], kind));
  }
  return fmt::format("{} ({})", core::counted(total, "finding"), fmt::join(parts, ", "));
}

}  // namespace ulpscope::cli
