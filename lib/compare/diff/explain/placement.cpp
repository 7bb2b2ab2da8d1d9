#include <algorithm>

#include "compare/diff/explain/explainers.hpp"
#include "compare/diff/finding_writer.hpp"
#include "compare/model/hash.hpp"

namespace ulpscope::comparison {
void note_placement(OpPair& ops) {
  const Event& a = ops.event(Side::reference);
  if (a.flags & event_flag::view) return;
  bool device = false;
  bool layout = !ops.arguments.placement.empty();
  for (const SlotPair& slot : ops.slots) {
    if (!slot.reference || !slot.candidate || !slot.reference->geometry ||
        !slot.candidate->geometry || either(slot, slot_flag::undefined))
      continue;
    const Geometry& left = *slot.reference->geometry;
    const Geometry& right = *slot.candidate->geometry;
    device = device || left.device_type != right.device_type;
    layout = layout || (left.sizes == right.sizes && left.strides != right.strides &&
                        left.layout == right.layout && !same_memory_order(left, right));
  }
  device = device && !ops.state.ledger.device_noted;
  layout = layout &&
           std::find(ops.state.ledger.layout_noted.begin(), ops.state.ledger.layout_noted.end(),
                     a.op) == ops.state.ledger.layout_noted.end();
  if (!device && !layout) return;
  if (device) ops.state.ledger.device_noted = true;
  if (layout) ops.state.ledger.layout_noted.emplace_back(a.op);
  enter_finding(ops.state, FindingKind::metadata, ops.scene, ops.at, ops.at,
                {.key = KeyHash().add("placement").value(), .harmless = true}, [&](Record& record) {
                  record.finding.diverges = false;
                  record.finding.arguments = ops.arguments.placement;
                  add_tensors(record, ops.slots);
                  record.finding.notes.emplace_back(
                      device ? "the runs use different devices"
                             : "the tensors are laid out differently in memory");
                });
}

}  // namespace ulpscope::comparison
