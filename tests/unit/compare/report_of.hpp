#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/run_builder.hpp"
#include "ulpscope/compare.hpp"

namespace ulpscope::test {

using Program = std::function<void(RunBuilder&)>;

/// Records two programs and compares them.
[[nodiscard]] inline Report report_of(const Program& reference, const Program& candidate,
                                      const CompareOptions& options = {}) {
  RunBuilder left;
  RunBuilder right;
  reference(left);
  candidate(right);
  return compare(*left.build(), *right.build(), options);
}

/// The same program twice, told which of the two it is.
[[nodiscard]] inline Report report_of(const std::function<void(RunBuilder&, bool changed)>& program,
                                      const CompareOptions& options = {}) {
  return report_of([&](RunBuilder& run) { program(run, false); },
                   [&](RunBuilder& run) { program(run, true); }, options);
}

[[nodiscard]] inline CompareOptions context(std::size_t neighbours) {
  CompareOptions options;
  options.context = neighbours;
  return options;
}

[[nodiscard]] inline CompareOptions step_offset(std::int64_t steps) {
  CompareOptions options;
  options.step_offset = steps;
  return options;
}

/// "isa, rng-device": the causes of a finding in their order.
[[nodiscard]] inline std::string cause_ids(const Report& report, std::size_t finding = 0) {
  std::string ids;
  for (const Cause& cause : report.causes)
    if (cause.finding == finding) ids += (ids.empty() ? "" : ", ") + cause.id;
  return ids;
}

[[nodiscard]] inline std::string first_cause(const Report& report) {
  return report.causes.empty() ? std::string() : report.causes.front().id;
}

[[nodiscard]] inline const Cause* find_cause(const Report& report, std::string_view id) {
  const auto at = std::find_if(report.causes.begin(), report.causes.end(),
                               [&](const Cause& cause) { return cause.id == id; });
  return at == report.causes.end() ? nullptr : &*at;
}

/// All of a finding's notes in one text.
[[nodiscard]] inline std::string notes_of(const Finding& finding) {
  std::string text;
  for (const std::string& note : finding.notes) text += note + "\n";
  return text;
}

[[nodiscard]] inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

[[nodiscard]] inline std::size_t diverging(const Report& report) {
  return static_cast<std::size_t>(
      std::count_if(report.findings.begin(), report.findings.end(),
                    [](const Finding& finding) { return finding.diverges; }));
}

}  // namespace ulpscope::test
