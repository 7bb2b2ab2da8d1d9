#include "compare/diff/outcomes/lone_outcomes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "compare/diff/outcomes/enter_outcomes.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::size_t kMostNamed = 16;

}  // namespace

void LoneOutcomes::judge_made(Side side, const Outcome& outcome) {
  const bool known = is_known(*outcome.slot);
  if (known && !is_kept_by_optimizer(*outcome.slot) &&
      on(state_.memory.alone, side).is_copy(*outcome.slot))
    return judge_copy(side, outcome);
  const std::optional<Source> why = reason_of(state_, side, outcome);
  if (known && why && outcome.outlived)
    blame_for_more(side, *why, *outcome.slot);
  else
    count(side, outcome);
}

void LoneOutcomes::judge_copy(Side side, const Outcome& outcome) {
  const Slot& copy = *outcome.slot;
  const Content content = content_of(copy);
  const RunOutcomes& others = on(left_, the_other(side));
  if (others.contents.contains(content) || others.unfilled_contents.contains(content)) return;
  const std::optional<Source> why = reason_of(state_, side, outcome);
  if (why && outcome.stands && leaves_copy_like(the_other(side), copy))
    blame(state_, *why, [](Record& record) {
      record.evidence.left_alone = "each run leaves a copy of something else";
    });
  else
    count(side, outcome);
}

void LoneOutcomes::judge_changed(Side side) {
  std::set<Content> others = on(left_, the_other(side)).contents;
  for (const auto& change : on(state_.memory.alone, the_other(side)).changes())
    others.insert(change.content);
  for (const auto& [storage, content] : on(state_.memory.alone, side).changes())
    if (!on(left_, side).storages.contains(storage) && !others.contains(content))
      ++state_.totals.outcomes.unknown;
}

void LoneOutcomes::judge_adopted(Side side) {
  for (const std::uint64_t storage : on(state_.memory.alone, side).adopted(state_.book.diverges()))
    if (!on(left_, side).storages.contains(storage)) ++state_.totals.outcomes.unknown;
}

void LoneOutcomes::count(Side side, const Outcome& outcome) {
  OutcomeTotals& totals = state_.totals.outcomes;
  ++on(totals.extra, side);
  if (!outcome.slot->name.empty() && on(totals.extra_names, side).size() < kMostNamed)
    on(totals.extra_names, side).emplace_back(outcome.slot->name);
}

/// What one run alone leaves at its end, it has left at the end of each step in which that
/// happened.
void LoneOutcomes::blame_for_more(Side side, const Source& source, const Slot& left) {
  Source first = source;
  if (is_kept(source.finding)) {
    const Finding& finding = state_.book.records()[source.finding].finding;
    first.step = step_of(finding);
    first.reference_event = finding.event.reference.value_or(kNone);
    first.candidate_event = finding.event.candidate.value_or(kNone);
  }
  blame(state_, first, [&](Record& record) {
    record.evidence.left_alone =
        fmt::format("the {} leaves {}, and the {} nothing in its place", name(side),
                    left.name.empty() ? "what it makes" : left.name, name(the_other(side)));
  });
}

/// A copy of its own of the same size, of something that the other run does not leave.
bool LoneOutcomes::leaves_copy_like(Side side, const Slot& copy) const {
  const AloneMemory& alone = on(state_.memory.alone, side);
  const std::set<Content>& others = on(left_, the_other(side)).contents;
  return std::ranges::any_of(on(left_, side).outcomes, [&](const Outcome& one) {
    return one.stands && is_known(*one.slot) && is_alike(*one.slot, copy) &&
           alone.made(*one.slot) && alone.is_copy(*one.slot) &&
           !others.contains(content_of(*one.slot));
  });
}

}  // namespace ulpscope::comparison
