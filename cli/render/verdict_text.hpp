#pragma once

#include <string>
#include <string_view>

#include "cli/render/page.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// The answer in words, escaped.
struct VerdictWords {
  std::string_view verdict;  ///< "DIVERGED", "IDENTICAL:"
  std::string sentence;      ///< goes on from there: "at step 17 of 50, backward of ..."
  std::string extent;        ///< "3 findings (origin); 2 events propagated"; empty if none
};
[[nodiscard]] VerdictWords verdict_words(const Report& report);

/// The answer in a sentence: the verdict and, where the runs diverge, where they first do, what
/// happens there and why; then how much follows from it.
void render_verdict(const Report& report, Page& page);

/// A verdict in capitals and what it says, wrapped beside it.
void print_verdict(Ink ink, std::string_view verdict, std::string_view text, Page& page);

/// What was left out of the comparison, by why: "812 uninitialized, 3 handles"; empty if nothing.
[[nodiscard]] std::string not_compared(const NotCompared& counts);

}  // namespace ulpscope::cli
