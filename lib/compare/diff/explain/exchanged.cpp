#include <algorithm>

#include "compare/diff/explain/explainers.hpp"
#include "compare/diff/explain/fresh.hpp"
#include "compare/diff/finding_writer.hpp"
#include "compare/diff/optimizer_options.hpp"

namespace ulpscope::comparison {
void explain_exchanged(OpPair& ops) {
  constexpr std::uint32_t kUnknown = slot_flag::changed | slot_flag::uninitialised |
                                     slot_flag::unproduced | slot_flag::undefined |
                                     slot_flag::overwritten | slot_flag::metadata_only;
  if (ops.event(Side::reference).kind != EventKind::op ||
      (ops.event(Side::reference).flags & event_flag::in_backward) != 0)
    return;
  if (ops.in_data_code() && ops.drawn_order()) return;    // samples in the order that was drawn
  if (!other_options(ops.scene, ops.at).empty()) return;  // an update of another kind
  std::vector<const SlotPair*> slots;
  bool differ = false;
  for (const SlotPair& slot : ops.slots) {
    if (slot.role() != Role::input || slot.match == Match::equal ||
        slot.match == Match::one_sided || either(slot, kUnknown) || ops.reason_of_part(slot) ||
        ops.state.partners.copies.of_original(slot, ops.state.partners.storages))
      continue;
    const bool differs = ops.reason_of(slot).has_value();
    differ = differ || differs;
    if (differs || slot.match == Match::layout) slots.push_back(&slot);
  }
  if (slots.empty()) return;
  const ExchangedTensors exchanged = ops.lane.exchanged.find(ops.scene, ops.at, slots);
  if (exchanged.tensors.empty()) return;
  std::vector<ArgumentReport> given;
  slots.clear();
  for (const ExchangedTensor& one : exchanged.tensors) {
    slots.push_back(one.slot);
    given.push_back(
        {tensor_name(*one.slot->owner, one.slot->any()), one.given.reference, one.given.candidate});
  }
  const Source source =
      enter_finding(ops.state, FindingKind::arguments, ops.scene, ops.at, ops.at,
                    {.key = inputs_key(slots), .once_per_step = true}, [&](Record& record) {
                      record.finding.arguments = given;
                      record.evidence.same_tensors = exchanged.same_set;
                      record.evidence.may_follow = ops.state.ledger.any(Differing::alone);
                      add_tensors(record, ops.slots);
                      record.finding.notes.emplace_back(
                          differ ? "what it reads differs already, but comes from other ops too"
                                 : "what it reads is laid out too differently to be compared, "
                                   "but comes from other ops");
                    });
  ops.found(source);
  ops.why = source;
}

void explain_other_parameters(OpPair& ops) {
  if (ops.event(Side::reference).phase != Phase::forward) return;
  std::vector<ArgumentReport> given;
  std::vector<const SlotPair*> slots;
  for (const SlotPair& slot : ops.slots) {
    if (slot.role() != Role::input || slot.match != Match::equal ||
        !both(slot, slot_flag::parameter) ||
        !ops.state.partners.other_parameters.are_two(ops.event(Side::reference).root,
                                                     slot.reference->name, slot.candidate->name))
      continue;
    ops.state.partners.other_parameters.given(ops.event(Side::reference).root, slot.reference->name,
                                              slot.candidate->name);
    slots.push_back(&slot);
    given.push_back({tensor_name(*slot.owner, *slot.reference), std::string(slot.reference->name),
                     std::string(slot.candidate->name)});
  }
  if (given.empty()) return;
  ops.state.partners.other_parameters.found(
      enter_finding(ops.state, FindingKind::arguments, ops.scene, ops.at, ops.at,
                    {.key = inputs_key(slots), .harmless = true}, [&](Record& record) {
                      record.finding.diverges = false;
                      record.listed = false;
                      record.finding.arguments = given;
                      add_tensors(record, ops.slots);
                      record.finding.notes.emplace_back(
                          "both hold the same values here: the runs diverge because gradients and "
                          "updates go to a different parameter");
                    }));
}

}  // namespace ulpscope::comparison
