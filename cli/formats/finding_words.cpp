#include "cli/formats/finding_words.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "cli/render/wording.hpp"
#include "cli/term/escape.hpp"
#include "compare/report/summary.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {

std::string cause_words(const Report& report, std::size_t finding) {
  const Cause* const cause = first_cause(report, finding);
  if (cause == nullptr) return {};
  return fmt::format("{} ({})", escaped(cause->id), name(cause->confidence));
}

std::string finding_sentence(const Report& report, std::size_t index) {
  const Finding& finding = report.findings[index];
  std::string sentence =
      fmt::format("{}, at {}", escaped(comparison::what_happened(finding)), place(finding, report));
  if (const TensorReport* const tensor = farthest_tensor(finding))
    sentence += fmt::format("; {} ULP at most", core::grouped(tensor->difference->ulp_max));
  if (const std::string cause = cause_words(report, index); !cause.empty())
    sentence += fmt::format("; cause: {}", cause);
  return sentence;
}

bool is_error(const Report& report, const Finding& finding) {
  return finding.diverges && report.verdict != Verdict::within;
}

const TensorReport* farthest_tensor(const Finding& finding) {
  const TensorReport* farthest = nullptr;
  const auto is_result = [](const TensorReport& tensor) { return tensor.role != Role::input; };
  for (const TensorReport& tensor : finding.tensors) {
    if (tensor.equal || !tensor.difference) continue;
    const bool takes_over = farthest == nullptr || (is_result(tensor) && !is_result(*farthest)) ||
                            (is_result(tensor) == is_result(*farthest) &&
                             tensor.difference->ulp_max > farthest->difference->ulp_max);
    if (takes_over) farthest = &tensor;
  }
  return farthest;
}

std::optional<SourceLine> source_line(std::string_view where) {
  constexpr auto kLargest = static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max());
  const std::size_t colon = where.rfind(':');
  if (colon == where.npos || colon == 0) return std::nullopt;
  const std::string_view digits = where.substr(colon + 1);
  std::uint32_t line = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), line);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size();
  if (!whole || line == 0 || line > kLargest) return std::nullopt;
  return SourceLine{escaped(where.substr(0, colon)), line};
}

std::optional<SourceLine> source_line(const Finding& finding) {
  auto line = source_line(finding.where);
  if (line && !finding.file.empty()) line->file = escaped(finding.file);
  return line;
}

}  // namespace ulpscope::cli
