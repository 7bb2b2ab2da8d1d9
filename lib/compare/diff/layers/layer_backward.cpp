#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compare/diff/finding_writer.hpp"
#include "compare/diff/layers/layer_judge.hpp"
#include "compare/model/words.hpp"

namespace ulpscope::comparison {
namespace {

/// The value of a module_gradient event; null if it has none.
[[nodiscard]] const Slot* value_of(const Event& event) {
  return event.slots.empty() ? nullptr : &event.slots.front();
}

[[nodiscard]] bool is_same_gradient(const Event& event, const Slot& value) {
  return event.kind == EventKind::module_gradient && value_of(event) != nullptr &&
         value_of(event)->digest == value.digest;
}

}  // namespace

/// One gradient of backward crosses several boundaries at once: of the calls that made the value
/// and of those that read it. Returns the events of those that read it.
std::vector<EventPair> LayerJudge::crossing() const {
  const Window& reference = *scene_.windows.reference;
  const Window& candidate = *scene_.windows.candidate;
  const Slot* const left = value_of(event(Side::reference));
  const Slot* const right = value_of(event(Side::candidate));
  std::vector<EventPair> readers;
  for (EventPair at = at_; at.reference < reference.size() && at.candidate < candidate.size();
       ++at.reference, ++at.candidate) {
    const Event& a = reference.event(at.reference);
    const Event& b = candidate.event(at.candidate);
    if (!is_same_gradient(a, *left) || !is_same_gradient(b, *right)) break;
    if (a.op != b.op || a.module != b.module || value_of(a)->role != value_of(b)->role) break;
    if (value_of(a)->role == Role::output) readers.push_back(at);
  }
  return readers;
}

void LayerJudge::judge_module_gradient() {
  for (const SlotPair& slot : slots_) {
    LayerCall* const call = flow_.calls.find(forward_of_event(at_.reference));
    if (call != nullptr && slot.role() == Role::input) call->gradients_seen = true;
    if (is_difference(slot.match)) {
      const Source source = why_gradient_differs(slot);
      flow_.differs(slot, source);
      if (call != nullptr) {
        if (slot.role() == Role::input && !call->gradients) call->gradients = source;
        flow_.calls.mark_inner_gradients(call->place, source);
      }
    }
  }
  flow_.last_module = module_words(event(Side::reference));
}

Source LayerJudge::why_gradient_differs(const SlotPair& slot) {
  if (const auto source = flow_.why(slot)) return propagated(*source);
  const std::vector<EventPair> readers = crossing();
  bool all_known = !readers.empty();
  for (const EventPair& reader : readers) {
    const LayerCall* const call = flow_.calls.find(forward_of_event(reader.reference));
    if (call == nullptr || !call->gradients_seen) {
      all_known = false;
      continue;
    }
    if (const auto source = why_backward(*call)) return propagated(*source);
  }
  // A value that differs may reach this gradient past all modules: through a residual connection.
  if (flow_.latest_value()) return propagated(*flow_.latest_value());
  if (all_known) return blame_backward(readers, slot);
  if (flow_.latest()) return propagated(*flow_.latest());
  if (const auto source = flow_.parameters.why_any()) return propagated(*source);
  if (flow_.alone()) return propagated(*flow_.alone());
  return blame_between(slot, flow_.last_module);
}

/// What the backward of a call computes from, and why it differs.
std::optional<Source> LayerJudge::why_backward(const LayerCall& call) const {
  if (call.gradients) return call.gradients;
  if (call.inputs) return call.inputs;
  if (call.inside) return call.inside;
  return flow_.parameters.why(call);
}

/// All calls that read a value were given equal gradients, and its gradient differs: the runs
/// diverge at the innermost of them.
Source LayerJudge::blame_backward(const std::vector<EventPair>& readers, const SlotPair& slot) {
  const auto is_around_another = [&](EventPlace place) {
    return std::any_of(readers.begin(), readers.end(), [&](const EventPair& other) {
      const LayerCall* call = flow_.calls.find(forward_of_event(other.reference));
      return call != nullptr && call->parent.lane == place.lane &&
             call->parent.position == place.position;
    });
  };
  std::vector<EventPair> innermost;
  for (const EventPair& reader : readers)
    if (!is_around_another(forward_of_event(reader.reference))) innermost.push_back(reader);
  const EventPair at = innermost.empty() ? readers.front() : innermost.front();
  LayerCall& call = *flow_.calls.find(forward_of_event(at.reference));
  if (call.backward && innermost.size() == 1) {
    add_to_finding(*call.backward, slot);
    return propagated(*call.backward);
  }
  const Source source =
      enter_finding(state_, FindingKind::origin, scene_, at, at, {}, [&](Record& record) {
        std::vector<SlotPair> own;
        compare_slots(scene_.windows.reference->event(at.reference),
                      scene_.windows.candidate->event(at.candidate), own);
        add_tensors(record, own);
        std::vector<std::string> others;
        for (const EventPair& other : innermost)
          if (other.reference != at.reference)
            others.push_back(module_words(scene_.windows.reference->event(other.reference)));
        if (!others.empty())
          record.finding.notes.push_back(
              fmt::format("the gradient is a sum: {} read the same value and may be what differs",
                          listed(others)));
      });
  call.backward = source;
  found();
  return source;
}

/// A call's backward leaves several gradients: one finding covers all of them.
void LayerJudge::add_to_finding(const Source& source, const SlotPair& slot) {
  if (!is_kept(source.finding)) return;
  Record& record = state_.book.records()[source.finding];
  if (record.finding.event.reference == source.reference_event) add_tensors(record, {slot});
}

/// The gradient of a parameter: the sum of what all calls of its module give.
void LayerJudge::judge_gradient() {
  const Event& here = event(Side::reference);
  for (const SlotPair& slot : slots_) {
    if (slot.role() == Role::input || !is_difference(slot.match)) continue;
    const std::string root(here.root);
    const std::string name(slot.reference->name);
    const auto calls = flow_.calls.of_module(root, std::string(here.module));
    const std::optional<Source> source = [&]() -> std::optional<Source> {
      if (const auto before = flow_.parameters.why_gradient(root, name)) return before;
      bool seen = false;
      for (const LayerCall* call : calls) {
        if (const auto why = why_backward(*call)) return why;
        if (call->has_inner && call->inner_gradients) return call->inner_gradients;
        seen = seen || call->gradients_seen;
      }
      if (seen) return std::nullopt;
      if (flow_.latest()) return flow_.latest();
      if (const auto parameter = flow_.parameters.why_any()) return parameter;
      return flow_.alone();
    }();
    if (source) {
      propagated(*source);
      flow_.gradient_differs(root, name, *source);
      continue;
    }
    LayerCall* const call = calls.empty() ? nullptr : calls.back();
    Source own;
    if (call != nullptr && call->backward) {
      own = *call->backward;
      add_to_finding(own, slot);
    } else {
      own = enter_finding(state_, FindingKind::origin, scene_, at_, at_, {},
                          [&](Record& record) { add_tensors(record, slots_); });
      if (call != nullptr) call->backward = own;
    }
    found();
    flow_.gradient_differs(root, name, own);
  }
}

}  // namespace ulpscope::comparison
