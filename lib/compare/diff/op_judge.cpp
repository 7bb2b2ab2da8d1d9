#include "compare/diff/op_judge.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "compare/diff/explain/explainers.hpp"
#include "compare/diff/explain/fresh.hpp"
#include "compare/diff/explain/kept_otherwise.hpp"
#include "compare/diff/explain/spread.hpp"
#include "compare/diff/optimizer_options.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool always(const OpPair&) { return true; }
[[nodiscard]] bool is_unexplained(const OpPair& ops) { return !ops.why; }
[[nodiscard]] bool reads_other_values(const OpPair& ops) { return ops.inputs_differ; }
[[nodiscard]] bool computes_from_equal(const OpPair& ops) {
  return !ops.inputs_differ && !ops.generator_differs;
}

struct Explainer {
  std::string_view name;
  bool (*needs)(const OpPair& ops);  ///< what the ones before it must have left
  void (*explain)(OpPair& ops);
};

/// In this order: what an op was given comes before what it computes, and a reason that is known
/// before a new one.
constexpr std::array kExplainers{
    Explainer{"draws", always, explain_draws},
    Explainer{"exchanged tensors", always, explain_exchanged},
    Explainer{"inputs", always, explain_inputs},
    Explainer{"settings", reads_other_values, explain_settings},
    Explainer{"arguments", computes_from_equal, explain_arguments},
    Explainer{"detached inputs", always, explain_detached},
    Explainer{"rearranged inputs", is_unexplained, explain_rearranged},
    Explainer{"results", is_unexplained, explain_results},
    Explainer{"inside", is_unexplained, explain_inside},
    Explainer{"other parameters", is_unexplained, explain_other_parameters},
    Explainer{"replays", always, explain_replays},
};

void note_reads_of_others(OpPair& ops) {
  for (const SlotPair& slot : ops.slots)
    if (slot.reference != nullptr && slot.role() == Role::input && slot.match == Match::equal &&
        ops.state.partners.made_equal.are_two(slot.reference->storage, slot.candidate->storage))
      ops.state.partners.read_as_partners.insert_or_assign(slot.reference->storage,
                                                           slot.reference->writer);
}

/// An optimizer has read a number that differs.
void enter_number_of_update(OpPair& ops, const Source& source) {
  for (const Side side : kSides) {
    const Window& window = *on(ops.scene.windows, side);
    const std::uint32_t at = side == Side::reference ? ops.at.reference : ops.at.candidate;
    if (const std::uint32_t step = optimizer_around(window, at); step != kNoIndex)
      ops.state.ledger.enter(differing::number_of_update(side, {on(ops.scene.lanes, side)->id,
                                                                window.event(step).position}),
                             source);
  }
}

/// Numbers and sizes that differ are reasons for what the program makes of them.
void enter_reasons(OpPair& ops) {
  for (const ArgumentReport& result : ops.arguments.results)
    ops.state.ledger.enter_number(result.reference.value_or(""), result.candidate.value_or(""),
                                  ops.why.value_or(Source{}));
  if (ops.why && !ops.arguments.results.empty()) enter_number_of_update(ops, *ops.why);
  for (const SlotPair& slot : ops.slots)
    if (ops.why && slot.match == Match::metadata && !is_kept_otherwise(ops, slot))
      ops.state.ledger.enter_sizes(*slot.reference->geometry, *slot.candidate->geometry, *ops.why);
}

void count_inside(OpPair& ops) {
  Coverage& coverage = ops.state.totals.coverage;
  coverage.aligned += ops.inside.pairs().size();
  coverage.only_reference += ops.inside.alone().reference.size();
  coverage.only_candidate += ops.inside.alone().candidate.size();
}

}  // namespace

Judgement OpJudge::judge(const Scene& scene, EventPair at) {
  pair_.begin(scene, at);
  pair_.compare_inside();
  for (const Explainer& explainer : kExplainers)
    if (explainer.needs(pair_)) explainer.explain(pair_);
  enter_reasons(pair_);
  Judgement& judgement = pair_.judgement;
  judgement.numbers_differ = !pair_.arguments.results.empty();
  judgement.follows = judgement.follows || pair_.inputs_differ || pair_.generator_differs;
  if (pair_.looked_at && judgement.outcome == Judged::equal) judgement.differs = false;
  judgement.source = pair_.why;
  pair_.state.partners.storages.passed(pair_.slots);
  pair_.state.partners.copies.passed(pair_.slots, pair_.state.memory.alone,
                                     pair_.state.partners.storages, pair_.state.ledger);
  pair_.state.partners.made_equal.passed_equal(pair_.slots);
  note_reads_of_others(pair_);
  shift_streams(pair_);
  note_placement(pair_);
  spread(pair_);
  pair_.state.memory.absorption.passed({scene, at, pair_.slots, pair_.why,
                                        pair_.inputs_differ || judgement.differs,
                                        judgement.numbers_differ || pair_.generator_differs});
  count_inside(pair_);
  count_event(pair_.state, scene, judgement);
  return judgement;
}

Judgement OpJudge::judge_scope(const Scene& scene, EventPair at) {
  pair_.begin(scene, at);
  const EventKind kind = pair_.event(Side::reference).kind;
  const bool is_passed_through = kind == EventKind::node || kind == EventKind::scope;
  std::vector<const SlotPair*> fresh;
  for (const SlotPair& slot : pair_.slots) {
    if (!is_difference(slot.match)) continue;
    const auto source = pair_.known_difference(slot);
    if (!is_passed_through)
      pair_.state.memory.absorption.leave(slot.reference, slot.candidate, source);
    if (source)
      pair_.propagated(*source);
    else if (slot.role() != Role::input && slot.match != Match::one_sided)
      // The ops inside may since have written what a scope read, but not what it leaves.
      fresh.push_back(&slot);
  }
  enter_each_kind(pair_, fresh);
  pair_.judgement.follows = true;
  pair_.judgement.source = pair_.why;
  count_event(pair_.state, scene, pair_.judgement);
  return pair_.judgement;
}

}  // namespace ulpscope::comparison
