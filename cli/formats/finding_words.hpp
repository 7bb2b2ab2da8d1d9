#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ulpscope/report.hpp"

/// What forms for other programs say of a finding, escaped.
namespace ulpscope::cli {

/// "aten::mm produces different bits from identical inputs, at step 0 / backward / fc (Linear); 18
/// ULP at most; cause: threads (certain)"
[[nodiscard]] std::string finding_sentence(const Report& report, std::size_t finding);

/// "threads (certain)"; empty if none is known.
[[nodiscard]] std::string cause_words(const Report& report, std::size_t finding);

/// Whether it is an error for whoever asked for this comparison.
[[nodiscard]] bool is_error(const Report& report, const Finding& finding);

/// The differing tensor that says how far apart a finding's results are: of its results the one
/// with the largest ULP distance, or else of its inputs. Null if no bytes were compared.
[[nodiscard]] const TensorReport* farthest_tensor(const Finding& finding);

/// Where in a program's text a finding is.
struct SourceLine {
  std::string file;
  std::uint32_t line = 0;  ///< from 1
};

/// Of "train.py:41"; empty if it names no line.
[[nodiscard]] std::optional<SourceLine> source_line(std::string_view where);
/// The same of a finding, whose file has its directories if they are known.
[[nodiscard]] std::optional<SourceLine> source_line(const Finding& finding);

}  // namespace ulpscope::cli
