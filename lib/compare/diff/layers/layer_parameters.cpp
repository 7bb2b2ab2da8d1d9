#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <utility>

#include "compare/diff/finding_writer.hpp"
#include "compare/diff/layers/layer_judge.hpp"
#include "compare/diff/optimizer_options.hpp"
#include "compare/model/hash.hpp"
#include "core/module_path.hpp"

namespace ulpscope::comparison {
namespace {

/// Lists tensors that a call has written, though they were recorded later.
void add_written(Record& record, const std::vector<SlotPair>& slots) {
  const std::size_t before = record.finding.tensors.size();
  add_tensors(record, slots);
  for (std::size_t k = before; k < record.finding.tensors.size(); ++k)
    record.finding.tensors[k].role = Role::mutated;
}

}  // namespace

void LayerJudge::judge_parameters() {
  const std::string root(event(Side::reference).root);
  const bool first = flow_.parameters.see_root(root);
  std::vector<SlotPair> initial;
  std::vector<SlotPair> buffers;
  std::vector<SlotPair> updated;
  for (const SlotPair& slot : slots_) {
    flow_.parameters.see(root, slot.reference->name);
    if (!is_difference(slot.match)) {
      if (slot.match == Match::equal) flow_.parameters.equal(root, *slot.reference);
      continue;
    }
    if (const auto source = why_parameter_differs(slot)) {
      propagated(*source);
      flow_.parameters.differs(root, *slot.reference, *source);
    } else if (first) {
      initial.push_back(slot);
    } else if (slot.reference->flags & slot_flag::buffer) {
      buffers.push_back(slot);
    } else {
      updated.push_back(slot);
    }
  }
  if (!initial.empty()) {
    // Listed once it has an effect or is left at the end: a program may still fill its parameters.
    const Source source = enter_finding(state_, FindingKind::parameter, scene_, at_, at_,
                                        {.harmless = true}, [&](Record& record) {
                                          add_tensors(record, initial);
                                          record.listed = false;
                                        });
    enter_parameters(initial, source);
  }
  blame_modules(buffers);
  blame_optimizer(updated);
}

std::optional<Source> LayerJudge::why_parameter_differs(const SlotPair& slot) {
  const std::string root(event(Side::reference).root);
  const std::string name(slot.reference->name);
  if (const auto source = flow_.parameters.why(root, name)) return source;
  if (slot.reference->flags & slot_flag::buffer) {
    const auto calls = flow_.calls.of_module(root, std::string(core::path_around(name)));
    for (const LayerCall* call : calls) {
      if (call->inputs) return call->inputs;
      if (call->inside) return call->inside;
    }
    if (calls.empty() && flow_.latest()) return flow_.latest();
    return std::nullopt;
  }
  if (const auto source = flow_.parameters.why_gradient(root, name + ".grad")) return source;
  return flow_.parameters.why_any_gradient();
}

void LayerJudge::enter_parameters(const std::vector<SlotPair>& slots, const Source& source) {
  const std::string root(event(Side::reference).root);
  for (const SlotPair& slot : slots) flow_.parameters.differs(root, *slot.reference, source);
  found();
}

/// Buffers that differ after forwards with equal inputs: the module has written them.
void LayerJudge::blame_modules(const std::vector<SlotPair>& buffers) {
  std::map<std::string, std::vector<SlotPair>> by_module;
  for (const SlotPair& slot : buffers)
    by_module[std::string(core::path_around(slot.reference->name))].push_back(slot);
  for (const auto& [path, slots] : by_module) {
    const auto calls = flow_.calls.of_module(std::string(event(Side::reference).root), path);
    const EventPair at = calls.empty() ? at_ : events_of_call(*calls.back());
    const Source source =
        enter_finding(state_, FindingKind::origin, scene_, at, at, {KeyHash().add(path).value()},
                      [&, &written = slots](Record& record) {
                        std::vector<SlotPair> given;
                        if (at.reference != at_.reference)
                          compare_slots(scene_.windows.reference->event(at.reference),
                                        scene_.windows.candidate->event(at.candidate), given);
                        add_tensors(record, given);
                        add_written(record, written);
                        record.finding.notes.emplace_back(
                            "its inputs are equal; what it has written to its buffers is not");
                      });
    enter_parameters(slots, source);
  }
}

/// Parameters that differ though the gradients do not: the optimizer has updated them so.
void LayerJudge::blame_optimizer(const std::vector<SlotPair>& parameters) {
  if (parameters.empty()) return;
  const EventPair optimizer{scene_.windows.reference->parent(at_.reference),
                            scene_.windows.candidate->parent(at_.candidate)};
  const auto is_optimizer = [](const Window& window, std::uint32_t index) {
    return index != kNoIndex && window.event(index).kind == EventKind::optimizer;
  };
  const EventPair at = is_optimizer(*scene_.windows.reference, optimizer.reference) &&
                               is_optimizer(*scene_.windows.candidate, optimizer.candidate)
                           ? optimizer
                           : at_;
  const bool set_otherwise = !other_options(scene_, at).empty();
  const Source source = enter_finding(
      state_, set_otherwise ? FindingKind::arguments : FindingKind::origin, scene_, at, at,
      {KeyHash().add("updated").value()}, [&](Record& record) {
        add_written(record, parameters);
        record.finding.between.reset();
        record.finding.notes.emplace_back(
            set_otherwise ? "the gradients and the parameters before are equal"
                          : "the gradients and the parameters before are equal; what changes "
                            "gradients before the step is not recorded");
      });
  enter_parameters(parameters, source);
}

}  // namespace ulpscope::comparison
