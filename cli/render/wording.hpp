#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ulpscope/report.hpp"

/// The words of a text report for the parts of a finding. Names from a dump come back escaped.
namespace ulpscope::cli {

/// Whether a finding speaks against the runs: a note is one that nothing follows from, or that
/// the tolerance or the budget allows; of those, the first one is an error if the verdict is
/// `diverged`.
[[nodiscard]] bool is_error(const Finding& finding, const Report& report);

/// "same inputs and arguments, different output: the runs diverge at this op"
[[nodiscard]] std::string headline(const Finding& finding);

/// "layer2.0.conv1 (Conv2d)", "Net (root module)", "after fc", "no module"; where there are several
/// models "Generator.main.0 (Conv2d)".
[[nodiscard]] std::string module_place(const Finding& finding, const Report& report);

/// "step 17 / backward / layer2.0.conv1 (Conv2d)", with the rank in front where there are several.
[[nodiscard]] std::string place(const Finding& finding, const Report& report);
/// "rank 2"; of a rank that was started again "rank 2 (its process 2)", of one that a rank has
/// created, such as a worker that loads data, "rank 2 (a process of rank 0)".
[[nodiscard]] std::string rank_name(const Report& report, std::uint32_t rank);
/// How ranks were matched; empty if all of them by what they declare or by number.
[[nodiscard]] std::string rank_matches(const Report& report);

/// "between fc1 and fc2", "between ops of fc1".
[[nodiscard]] std::string between_words(const Both<std::string>& modules);

/// "17/140913", as `ulpscope inspect` takes it.
[[nodiscard]] std::string event_path(const Finding& finding, std::uint64_t event);

/// "event 17/140913", with the candidate's number where it differs.
[[nodiscard]] std::string event_numbers(const Finding& finding);

/// "aten::add_.Scalar"
[[nodiscard]] std::string op_name(const Finding& finding);

/// "in", "out 1", "mut 0", with the place in a list "in [2]".
[[nodiscard]] std::string slot_label(const TensorReport& tensor);

/// "out 1 grad_weight"
[[nodiscard]] std::string slot_title(const TensorReport& tensor);

/// "float32 [128, 64, 3, 3]"; both shapes where they differ.
[[nodiscard]] std::string type_and_shape(const TensorReport& tensor);

/// "identical", "2,326 of 73,728 differ (3.2%)", "differs".
[[nodiscard]] std::string outcome(const TensorReport& tensor);

/// "118 ULP, 1.37e-08 absolute, 1.1e-07 scaled"
[[nodiscard]] std::string distance(const Difference& difference);

/// The first cause of a finding, by index; null if none is known.
[[nodiscard]] const Cause* first_cause(const Report& report, std::size_t finding);

/// "5 findings (3 origin, 2 sequence)"
[[nodiscard]] std::string findings_in_words(const Report& report);

}  // namespace ulpscope::cli
