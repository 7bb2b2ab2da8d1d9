#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compare/diff/evidence.hpp"
#include "compare/report/causes/settings.hpp"
#include "facts/ops.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::comparison {

/// One finding with everything a diagnosis rule may use.
class Case {
 public:
  Case(const Record& record, std::size_t index, const Report& report, const RunEvidence& runs)
      : record_(record), index_(index), report_(report), runs_(runs) {}

  [[nodiscard]] const Finding& finding() const noexcept { return record_.finding; }
  [[nodiscard]] const Evidence& evidence() const noexcept { return record_.evidence; }
  /// What it turned out to change, where it might have been harmless.
  [[nodiscard]] const std::optional<Effect>& effect() const noexcept { return record_.effect; }
  [[nodiscard]] const Report& report() const noexcept { return report_; }
  [[nodiscard]] const RunEvidence& runs() const noexcept { return runs_; }
  [[nodiscard]] bool is(FindingKind kind) const noexcept { return finding().kind == kind; }

  /// The first step that was recorded in both runs, where the finding may follow from one before.
  [[nodiscard]] std::optional<std::int64_t> late_begin() const;

  /// Settings of a group that differ where the finding is and can change bits.
  [[nodiscard]] std::vector<const EnvironmentDifference*> settings(Setting group) const;
  /// True if settings of this group differ and no others that can change bits.
  [[nodiscard]] bool only(Setting group) const;
  /// No setting that can change bits differs there.
  [[nodiscard]] bool same_settings() const;

  /// Whether a setting differs where the finding is and can change bits.
  [[nodiscard]] bool counts(const EnvironmentDifference& difference) const;

  /// It is in a process that a rank has created, such as a worker that loads data.
  [[nodiscard]] bool in_created_rank() const {
    return runs_.created.reference.contains(record_.ranks.reference) &&
           runs_.created.candidate.contains(record_.ranks.candidate);
  }

  [[nodiscard]] Cause cause(std::string id, Confidence confidence) const;
  /// The command that was recorded, with variables set before it.
  [[nodiscard]] std::string command(std::string_view variables) const;

 private:
  const Record& record_;
  std::size_t index_;
  const Report& report_;
  const RunEvidence& runs_;
};

/// "threads.intra_op is 1 and 2".
[[nodiscard]] std::string words(const EnvironmentDifference& difference);

/// What the program itself noted differently at the finding, as evidence: its samples, its epoch,
/// its generators.
void add_notes(const Case& of, Cause& cause);

/// Ops that only one run has and that change something, in steps that both have.
[[nodiscard]] bool diverging_sequence(const Case& of);

/// Whether what is known about one of the tensors that differ passes a test.
template <class Test>
[[nodiscard]] bool any_differing(const Case& of, Test test) {
  for (std::size_t k = 0; k < of.finding().tensors.size(); ++k)
    if (!of.finding().tensors[k].equal && test(of.evidence().tensors[k])) return true;
  return false;
}

/// It reads the same samples as the other run, in a different order.
[[nodiscard]] bool in_another_order(const Case& of);

/// It is where data is prepared, outside modules.
[[nodiscard]] bool prepares_data(const Finding& finding);
/// What differs is a model's, or is trained, and so no data.
[[nodiscard]] bool reads_state(const Case& of);
/// A compiler has generated different code for a kernel.
[[nodiscard]] bool has_other_code(const Case& of);
/// The program picks samples: it reads different rows of the data it holds.
[[nodiscard]] bool picks_samples(const Case& of);
/// It reads other rows, moved by one distance: samples, or a constant of the program.
[[nodiscard]] bool may_pick_samples(const Case& of);

using facts::OpClass;
/// Of what a finding names, which may be a module.
[[nodiscard]] OpClass class_of(const Finding& finding);

/// A rule returns its cause if the evidence supports it.
using Rule = std::optional<Cause> (*)(const Case&);

}  // namespace ulpscope::comparison
