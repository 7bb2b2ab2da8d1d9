#include "compare/report/environment.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "compare/model/words.hpp"
#include "compare/report/causes/case.hpp"
#include "core/glob.hpp"

namespace ulpscope::comparison {
namespace {

/// Keys that can change results; '*' matches any characters.
constexpr std::array<std::string_view, 26> kChangesBits{"torch.*",         "program.build_id",
                                                        "library.*",       "cpu.model",
                                                        "cpu.capability",  "cpu.onednn_isa",
                                                        "cpu.flags",       "threads.*",
                                                        "flag.*",          "rng.*",
                                                        "device.*.name",   "device.*.sms",
                                                        "device.*.driver", "cuda.*",
                                                        "cudnn.*",         "os.libc",
                                                        "env.*",           "env_now.*",
                                                        "blas.*",          "mkl.*",
                                                        "onednn.*",        "note.rng.*",
                                                        "cublas.*",        "python.*",
                                                        "numpy.*",         "triton.*"};

/// Variables that choose what is printed, stored or preloaded, not what is computed, and a compiler
/// of the driver that is needed only where its cache lacks a kernel.
constexpr std::array<std::string_view, 14> kHarmless{"*.TORCH_LOGS",
                                                     "*.TORCH_HOME",
                                                     "*.TORCH_CPP_LOG_LEVEL",
                                                     "*.TORCH_SHOW_*",
                                                     "*.TORCH_TRACE",
                                                     "*.MKL_VERBOSE",
                                                     "*.ONEDNN_VERBOSE",
                                                     "*.DNNL_VERBOSE",
                                                     "*.NCCL_DEBUG*",
                                                     "*.OMP_DISPLAY_*",
                                                     "*.KMP_SETTINGS",
                                                     "*.KMP_AFFINITY_VERBOSE",
                                                     "*.PYTORCH_JIT_LOG_LEVEL",
                                                     "library.libnvidia-ptxjitcompiler.so*"};

/// What recording itself brings along, and what both ends of a process are like, which is judged as
/// its outcomes are.
constexpr std::array<std::string_view, 10> kOwn{"capture.*",
                                                "env.ULPSCOPE_*",
                                                "env_now.ULPSCOPE_*",
                                                "env.LD_PRELOAD",
                                                "env_now.LD_PRELOAD",
                                                "library.libulpscope*",
                                                "begin.*",
                                                "end.*",
                                                "saved.*",
                                                "process.*"};

template <std::size_t Count>
[[nodiscard]] bool matches(const std::array<std::string_view, Count>& patterns,
                           std::string_view key) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](std::string_view pattern) { return core::glob_match(pattern, key); });
}

/// Libraries are mapped when they are first requested, which does not show when they are used; what
/// recording found is reported at its end.
constexpr std::array<std::string_view, 2> kTimeless{"library.*", "capture.*"};

constexpr std::string_view kExitCode = "program.exit_code";

/// So far that shifting by the largest offset stays in range.
constexpr std::int64_t kLargestStep = std::int64_t{1} << 61;

/// A setting over a run: its values in order, by step.
using Course = std::map<std::int64_t, std::vector<std::string>>;
using Courses = std::map<std::string, Course>;

[[nodiscard]] Courses courses(const std::vector<EnvironmentEntry>& entries, std::int64_t offset) {
  Courses all;
  for (const EnvironmentEntry& entry : entries) {
    const bool timeless = entry.step == kSetup || matches(kTimeless, entry.key);
    const std::int64_t at = std::min(entry.step, kLargestStep);
    const std::int64_t step = timeless ? kSetup : std::max(at - offset, kSetup);
    all[entry.key][step].push_back(entry.value);
  }
  return all;
}

using Values = std::vector<std::optional<std::string>>;

/// The values that a setting had in a step: the one from before, if that is known, and those it was
/// set to. Of setup the last one counts: that is how the first step finds it. A note replaces the
/// one before at once.
[[nodiscard]] Values values_in(const Course& course, std::int64_t step, bool is_note, bool late) {
  const auto at = course.lower_bound(step);
  Values values{std::nullopt};
  if (at != course.begin()) values.front() = std::prev(at)->second.back();
  if (at == course.end() || at->first != step) return values;
  if (step == kSetup) return {at->second.back()};
  if (is_note || (late && at == course.begin())) values.clear();
  values.insert(values.end(), at->second.begin(), at->second.end());
  return values;
}

/// The first values of two lists that are not the same.
[[nodiscard]] Both<std::optional<std::string>> first_apart(const Values& reference,
                                                           const Values& candidate) {
  std::size_t i = 0;
  const auto at = [&](const Values& values) { return values[std::min(i, values.size() - 1)]; };
  while (at(reference) == at(candidate) && i < std::max(reference.size(), candidate.size())) ++i;
  return {at(reference), at(candidate)};
}

/// The first step from which on both courses are known.
[[nodiscard]] std::int64_t known_from(const Both<Course>& courses, const Both<bool>& late) {
  std::int64_t from = kSetup;
  for (const Side side : kSides)
    if (on(late, side) && !on(courses, side).empty())
      from = std::max(from, on(courses, side).begin()->first);
  return from;
}

/// Where two courses diverge: empty if they never do.
[[nodiscard]] std::optional<EnvironmentDifference> difference_of(const std::string& key,
                                                                 const Both<Course>& courses,
                                                                 const Both<bool>& late) {
  const std::int64_t from = known_from(courses, late);
  std::set<std::int64_t> steps{from};
  for (const Side side : kSides)
    for (const auto& entry : on(courses, side)) {
      steps.insert(std::max(entry.first, from));
      steps.insert(std::max(entry.first + 1, from));
    }
  const bool is_note = key.starts_with("note.");
  std::optional<EnvironmentDifference> found;
  for (auto at = steps.begin(); at != steps.end(); ++at) {
    const Both<Values> values{values_in(courses.reference, *at, is_note, late.reference),
                              values_in(courses.candidate, *at, is_note, late.candidate)};
    if (values.reference == values.candidate) continue;
    if (!found) {
      auto [reference, candidate] = first_apart(values.reference, values.candidate);
      found = EnvironmentDifference{
          key, std::move(reference), std::move(candidate), can_change_bits(key), {}};
    }
    const std::int64_t end = std::next(at) == steps.end() ? kNoEnd : *std::next(at) - 1;
    if (!found->steps.empty() && found->steps.back().second + 1 == *at)
      found->steps.back().second = end;
    else
      found->steps.emplace_back(*at, end);
  }
  if (found && found->steps.front() == std::pair(from, kNoEnd)) found->steps.clear();
  return found;
}

}  // namespace

bool can_change_bits(std::string_view key) {
  return matches(kChangesBits, key) && !matches(kHarmless, key);
}

bool differs_in(const EnvironmentDifference& difference, std::int64_t step) {
  return difference.steps.empty() ||
         std::any_of(difference.steps.begin(), difference.steps.end(), [&](const auto& range) {
           return range.first <= step && step <= range.second;
         });
}

std::vector<EnvironmentDifference> environment_differences(
    const std::vector<EnvironmentEntry>& reference, const std::vector<EnvironmentEntry>& candidate,
    std::int64_t step_offset, const Both<bool>& late) {
  const Both<Courses> all{courses(reference, 0), courses(candidate, step_offset)};
  std::set<std::string> keys;
  for (const Side side : kSides)
    for (const auto& entry : on(all, side))
      if (!matches(kOwn, entry.first)) keys.insert(entry.first);

  std::vector<EnvironmentDifference> differences;
  for (const std::string& key : keys) {
    const auto course = [&](Side side) {
      const auto at = on(all, side).find(key);
      return at == on(all, side).end() ? Course{} : at->second;
    };
    if (auto found = difference_of(key, {course(Side::reference), course(Side::candidate)}, late))
      differences.push_back(std::move(*found));
  }
  std::stable_sort(differences.begin(), differences.end(),
                   [](const EnvironmentDifference& a, const EnvironmentDifference& b) {
                     return std::tuple(!a.can_change_bits, std::string_view(a.key)) <
                            std::tuple(!b.can_change_bits, std::string_view(b.key));
                   });
  return differences;
}

std::optional<EnvironmentDifference> exit_code_difference(const RunInfo& reference,
                                                          const RunInfo& candidate) {
  if (!reference.exit_code || !candidate.exit_code || reference.exit_code == candidate.exit_code)
    return std::nullopt;
  return EnvironmentDifference{.key = std::string(kExitCode),
                               .reference = std::to_string(*reference.exit_code),
                               .candidate = std::to_string(*candidate.exit_code),
                               .can_change_bits = false,
                               .steps = {}};
}

const EnvironmentDifference* exit_codes(const Report& report) {
  const auto found = std::ranges::find(report.environment, kExitCode, &EnvironmentDifference::key);
  return found == report.environment.end() ? nullptr : &*found;
}

std::string when_words(const EnvironmentDifference& difference) {
  std::vector<std::string> parts;
  for (const auto& [first, last] : difference.steps) {
    if (first == last)
      parts.push_back("in " + step_words(first));
    else if (last == kNoEnd)
      parts.push_back("from " + step_words(first));
    else if (first == kSetup)
      parts.push_back("until " + step_words(last));
    else
      parts.push_back("in " + steps_words({{first, last}}));
  }
  return listed(parts, 3);
}

GoldenConditions golden_conditions(const std::vector<EnvironmentDifference>& differences) {
  GoldenConditions conditions;
  for (const EnvironmentDifference& difference : differences) {
    const Setting setting = setting_of(difference.key);
    const bool decides = setting == Setting::isa || setting == Setting::threads ||
                         setting == Setting::library || difference.key.starts_with("device.");
    // The program itself is what a golden run tests.
    if (decides && difference.can_change_bits && difference.key != "program.build_id")
      conditions.differ.push_back(difference);
  }
  return conditions;
}

}  // namespace ulpscope::comparison
