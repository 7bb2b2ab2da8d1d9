#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/run_builder.hpp"
#include "ulpscope/compare.hpp"

namespace ulpscope::test {

using Program = std::function<void(RunBuilder&)>;

/// Records two programs and compares them.
[[nodiscard]] Report report_of(const Program& reference, const Program& candidate,
                               const CompareOptions& options = {});

/// The same program twice; it gets which of the two it is.
[[nodiscard]] Report report_of(const std::function<void(RunBuilder&, bool changed)>& program,
                               const CompareOptions& options = {});

[[nodiscard]] CompareOptions context(std::size_t neighbours);

[[nodiscard]] CompareOptions step_offset(std::int64_t steps);

/// "isa, rng-device": the causes of a finding in their order.
[[nodiscard]] std::string cause_ids(const Report& report, std::size_t finding = 0);

[[nodiscard]] std::string first_cause(const Report& report);

[[nodiscard]] const Cause* find_cause(const Report& report, std::string_view id);

/// All of a finding's notes in one text.
[[nodiscard]] std::string notes_of(const Finding& finding);

[[nodiscard]] inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

[[nodiscard]] std::size_t diverging(const Report& report);

}  // namespace ulpscope::test
