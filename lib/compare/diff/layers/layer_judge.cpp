#include "compare/diff/layers/layer_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compare/diff/boundary_judge.hpp"
#include "compare/diff/finding_writer.hpp"
#include "compare/model/hash.hpp"

namespace ulpscope::comparison {
namespace {

/// Nesting beyond this is not followed: a dump can be made to claim any depth.
constexpr std::size_t kDeepestCall = 256;

[[nodiscard]] bool has_same_difference(const std::vector<SlotPair>& slots, const SlotPair& wanted) {
  return std::any_of(slots.begin(), slots.end(), [&](const SlotPair& slot) {
    return slot.role() == Role::input && slot.match == Match::differs &&
           slot.reference->digest == wanted.reference->digest &&
           slot.candidate->digest == wanted.candidate->digest;
  });
}

[[nodiscard]] bool is_named(const SlotPair& slot) {
  return both(slot, slot_flag::parameter | slot_flag::buffer) &&
         slot.reference->name == slot.candidate->name;
}

[[nodiscard]] const SlotPair* first_different_input(const std::vector<SlotPair>& slots) {
  const auto at = std::find_if(slots.begin(), slots.end(), [](const SlotPair& slot) {
    return slot.role() == Role::input && slot.match == Match::differs;
  });
  return at == slots.end() ? nullptr : &*at;
}

/// True if a call was seen to be given values, all of them equal.
[[nodiscard]] bool has_equal_inputs(const std::vector<SlotPair>& slots) {
  const auto differs = [](const SlotPair& slot) {
    return slot.role() == Role::input && is_difference(slot.match);
  };
  const auto compared = [](const SlotPair& slot) {
    return slot.role() == Role::input && was_compared(slot.match);
  };
  return std::any_of(slots.begin(), slots.end(), compared) &&
         std::none_of(slots.begin(), slots.end(), differs);
}

}  // namespace

std::string module_words(const Event& event) {
  if (!event.has_module) return std::string(event.op);
  return std::string(event.module.empty() ? event.root : event.module);
}

Judgement LayerJudge::judge(const Scene& scene, EventPair at) {
  scene_ = scene;
  at_ = at;
  judgement_ = {};
  compare_boundary_slots(event(Side::reference), event(Side::candidate), slots_);
  if (event(Side::reference).kind == EventKind::gradient)
    std::erase_if(slots_, [](const SlotPair& slot) { return slot.role() == Role::input; });
  count_values(state_, scene_, at_, slots_, judgement_);
  switch (event(Side::reference).kind) {
    case EventKind::module:
      judge_call();
      break;
    case EventKind::module_output:
      if (LayerCall* call = flow_.calls.find(forward_of_event(at_.reference)))
        for (const SlotPair& slot : slots_) judge_output(*call, slot);
      break;
    case EventKind::module_gradient:
      judge_module_gradient();
      break;
    case EventKind::gradient:
      judge_gradient();
      break;
    case EventKind::parameters:
      judge_parameters();
      break;
    default:
      break;
  }
  count_event(state_, scene_, judgement_);
  return judgement_;
}

const Event& LayerJudge::event(Side side) const {
  return on(scene_.windows, side)->event(side == Side::reference ? at_.reference : at_.candidate);
}

void LayerJudge::found() { judgement_.outcome = Judged::found; }

Source LayerJudge::propagated(const Source& source) {
  state_.book.make_diverging(source);
  if (judgement_.outcome == Judged::equal) judgement_.outcome = Judged::propagated;
  return source;
}

EventPlace LayerJudge::place_of(std::uint32_t reference_event) const {
  return {scene_.lanes.reference->id, scene_.windows.reference->event(reference_event).position};
}

EventPlace LayerJudge::forward_of_event(std::uint32_t reference_event) const {
  const Event& from = scene_.windows.reference->event(reference_event);
  return {from.forward_lane, from.forward};
}

/// The calls around two events; kNoIndex on both sides where one has none.
EventPair LayerJudge::around(EventPair at) const {
  const auto up = [](const Window& window, std::uint32_t index) {
    do {
      index = window.parent(index);
    } while (index != kNoIndex && window.event(index).kind != EventKind::module);
    return index;
  };
  const EventPair result{up(*scene_.windows.reference, at.reference),
                         up(*scene_.windows.candidate, at.candidate)};
  return result.reference == kNoIndex || result.candidate == kNoIndex ? EventPair{} : result;
}

LayerCall& LayerJudge::ensure_call(std::uint32_t reference_event) {
  const Window& window = *scene_.windows.reference;
  std::vector<std::uint32_t> chain;
  for (std::uint32_t up = reference_event; up != kNoIndex && chain.size() < kDeepestCall;
       up = window.parent(up))
    if (window.event(up).kind == EventKind::module) chain.push_back(up);
  EventPlace parent;
  LayerCall* call = nullptr;
  for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
    const EventPlace place = place_of(*at);
    call = flow_.calls.find(place);
    if (call == nullptr)
      call = &flow_.calls.add(place, parent, window.event(*at), flow_.last_module);
    parent = place;
  }
  return *call;
}

EventPair LayerJudge::events_of_call(const LayerCall& call) const {
  if (call.place.lane != scene_.lanes.reference->id ||
      call.partner.lane != scene_.lanes.candidate->id)
    return at_;
  const EventPair found{scene_.windows.reference->find(call.place.position),
                        scene_.windows.candidate->find(call.partner.position)};
  return found.reference == kNoIndex || found.candidate == kNoIndex ? at_ : found;
}

void LayerJudge::judge_call() {
  LayerCall& call = ensure_call(at_.reference);
  call.partner = {scene_.lanes.candidate->id, event(Side::candidate).position};
  for (const SlotPair& slot : slots_) {
    if (slot.role() != Role::input || !is_difference(slot.match)) continue;
    const Source source = why_input_differs(slot);
    flow_.differs(slot, source);
    if (!call.inputs) call.inputs = source;
  }
  for (const SlotPair& slot : slots_)
    if (slot.role() != Role::input) judge_output(call, slot);
  flow_.last_module = module_words(event(Side::reference));
}

Source LayerJudge::why_input_differs(const SlotPair& slot) {
  if (const auto source = flow_.why(slot)) return propagated(*source);
  if (flow_.latest()) return propagated(*flow_.latest());
  if (const auto source = flow_.parameters.why_any()) return propagated(*source);
  if (flow_.alone()) return propagated(*flow_.alone());
  return slot.match == Match::differs ? blame_input(slot) : blame_between(slot, flow_.last_module);
}

/// Nothing recorded explains why this call was given a different value. An enclosing call that was
/// given a different one, the same or not, comes before it.
Source LayerJudge::blame_input(const SlotPair& slot) {
  SlotPair first = slot;
  EventPair reader = at_;
  EventPair outer = around(reader);
  std::vector<SlotPair> given;
  for (std::size_t depth = 0; outer.reference != kNoIndex && depth < kDeepestCall; ++depth) {
    compare_boundary_slots(scene_.windows.reference->event(outer.reference),
                           scene_.windows.candidate->event(outer.candidate), given);
    if (!has_same_difference(given, first)) {
      const SlotPair* const other = first_different_input(given);
      if (other == nullptr) break;
      first = *other;
    }
    reader = outer;
    outer = around(outer);
  }
  const Source source = [&] {
    if (is_named(first)) return blame_parameter(reader, first);
    if (outer.reference != kNoIndex && has_equal_inputs(given)) {
      const std::string before = flow_.last_module;
      return enter_finding(
          state_, FindingKind::origin, scene_, outer, outer,
          {KeyHash().add(module_words(event(Side::reference))).value()}, [&](Record& record) {
            add_tensors(record, given);
            add_tensors(record, {slot});
            record.finding.notes.push_back(fmt::format(
                "the input of {} is the first value that differs: it comes from ops of {}{}",
                module_words(event(Side::reference)), record.finding.op,
                before.empty() ? "" : " after " + before));
          });
    }
    if (!ensure_call(reader.reference).before.empty())
      return blame_between(slot, flow_.last_module);
    return enter_finding(
        state_, FindingKind::data, scene_, reader, reader,
        {KeyHash().add(std::uint64_t{first.reference->index}).value()}, [&](Record& record) {
          compare_boundary_slots(scene_.windows.reference->event(reader.reference),
                                 scene_.windows.candidate->event(reader.candidate), given);
          add_tensors(record, given);
        });
  }();
  found();
  return source;
}

/// A parameter or buffer that was equal when it was last seen, and is not where a call reads it.
Source LayerJudge::blame_parameter(EventPair reader, const SlotPair& parameter) {
  const Source source = enter_finding(
      state_, FindingKind::parameter, scene_, reader, reader,
      {KeyHash().add(parameter.reference->name).value()}, [&](Record& record) {
        add_tensors(record, {parameter});
        record.finding.notes.push_back(fmt::format(
            "{} was equal when it was last recorded: it was written since, outside of optimizers",
            parameter.reference->name));
      });
  flow_.parameters.differs(std::string(event(Side::reference).root), *parameter.reference, source);
  return source;
}

Source LayerJudge::blame_between(const SlotPair& slot, const std::string& before) {
  const FindingKind kind =
      slot.match == Match::metadata ? FindingKind::metadata : FindingKind::origin;
  const Source source = enter_finding(
      state_, kind, scene_, at_, at_, {KeyHash().add("between").value()}, [&](Record& record) {
        const std::string here = module_words(event(Side::reference));
        add_tensors(record, slots_);
        record.finding.notes.push_back(fmt::format(
            "every value recorded before is equal: the runs diverge outside of modules, {}",
            before.empty() ? "before " + here : fmt::format("between {} and {}", before, here)));
        record.finding.op.clear();
        record.finding.module.reset();
        record.finding.module_type.clear();
        record.finding.between = Both<std::string>{before, here};
      });
  found();
  return source;
}

void LayerJudge::judge_output(LayerCall& call, const SlotPair& slot) {
  if (slot.role() == Role::input || !is_difference(slot.match)) return;
  std::optional<Source> source = flow_.why(slot);
  if (!source) source = call.inputs;
  if (!source) source = call.inside;
  if (!source) source = flow_.parameters.why(call);
  if (!source && flow_.parameters.are_in(call)) source = flow_.parameters.why_updated(call.root);
  if (!source && call.has_inner) source = flow_.alone();
  if (source)
    propagated(*source);
  else
    source = blame_call(call, slot);
  flow_.differs(slot, *source);
  flow_.calls.mark_inside(call.place, *source);
}

/// The innermost call whose inputs and parameters are equal and which leaves something else.
Source LayerJudge::blame_call(const LayerCall& call, const SlotPair& slot) {
  const EventPair at =
      event(Side::reference).kind == EventKind::module ? at_ : events_of_call(call);
  const FindingKind kind =
      slot.match == Match::metadata ? FindingKind::metadata : FindingKind::origin;
  const Source source = enter_finding(state_, kind, scene_, at, at, {}, [&](Record& record) {
    if (at.reference != at_.reference) {
      std::vector<SlotPair> given;
      compare_boundary_slots(scene_.windows.reference->event(at.reference),
                             scene_.windows.candidate->event(at.candidate), given);
      add_tensors(record, given);
    }
    add_tensors(record, slots_);
    if (flow_.parameters.are_in(call))
      record.finding.notes.emplace_back(
          "its parameters were equal when they were last recorded; a write since then does not "
          "show "
          "in layers");
  });
  found();
  return source;
}

}  // namespace ulpscope::comparison
