#include "tests/unit/compare/report_of.hpp"

namespace ulpscope::test {

Report report_of(const Program& reference, const Program& candidate,
                 const CompareOptions& options) {
  RunBuilder left;
  RunBuilder right;
  reference(left);
  candidate(right);
  return compare(*left.build(), *right.build(), options);
}

Report report_of(const std::function<void(RunBuilder&, bool changed)>& program,
                 const CompareOptions& options) {
  return report_of([&](RunBuilder& run) { program(run, false); },
                   [&](RunBuilder& run) { program(run, true); }, options);
}

CompareOptions context(std::size_t neighbours) {
  CompareOptions options;
  options.context = neighbours;
  return options;
}

CompareOptions step_offset(std::int64_t steps) {
  CompareOptions options;
  options.step_offset = steps;
  return options;
}

std::string cause_ids(const Report& report, std::size_t finding) {
  std::string ids;
  for (const Cause& cause : report.causes)
    if (cause.finding == finding) ids += (ids.empty() ? "" : ", ") + cause.id;
  return ids;
}

std::string first_cause(const Report& report) {
  return report.causes.empty() ? std::string() : report.causes.front().id;
}

const Cause* find_cause(const Report& report, std::string_view id) {
  const auto at = std::find_if(report.causes.begin(), report.causes.end(),
                               [&](const Cause& cause) { return cause.id == id; });
  return at == report.causes.end() ? nullptr : &*at;
}

std::string notes_of(const Finding& finding) {
  std::string text;
  for (const std::string& note : finding.notes) text += note + "\n";
  return text;
}

std::size_t diverging(const Report& report) {
  return static_cast<std::size_t>(
      std::count_if(report.findings.begin(), report.findings.end(),
                    [](const Finding& finding) { return finding.diverges; }));
}

}  // namespace ulpscope::test
