#include "tests/support/run_builder.hpp"

namespace ulpscope::test {

EventBuilder RunBuilder::op(std::string_view name) { return begin(EventKind::op, name); }

EventBuilder RunBuilder::event(EventKind kind, std::string_view name) { return begin(kind, name); }

Tensor RunBuilder::composite(std::string_view name,
                             const std::function<Tensor(EventBuilder&)>& body) {
  EventBuilder event = begin(EventKind::op, name);
  Tensor result;
  event.calls([&] { result = body(event); });
  event.returns(result);
  return result;
}

void RunBuilder::scope(EventKind kind, std::string_view name, const std::function<void()>& body) {
  begin(kind, name).calls(body);
}

void RunBuilder::module(std::string_view path, const std::function<void()>& body,
                        std::string_view type) {
  modules_.push_back({std::string(path), std::string(type)});
  begin(EventKind::module, type).calls(body);
  modules_.pop_back();
}

void RunBuilder::module_with_output(std::string_view path, const std::function<Tensor()>& body,
                                    std::string_view type) {
  modules_.push_back({std::string(path), std::string(type)});
  {
    EventBuilder event = begin(EventKind::module, type);
    Tensor output;
    event.calls([&] { output = body(); });
    event.returns(output);
  }
  modules_.pop_back();
}

std::uint64_t RunBuilder::call(std::string_view path,
                               const std::function<void(EventBuilder&)>& body,
                               std::string_view type) {
  modules_.push_back({std::string(path), std::string(type)});
  EventBuilder event = begin(EventKind::module, std::string(type).append("::forward"));
  body(event);
  modules_.pop_back();
  return event.position();
}

EventBuilder RunBuilder::of_module(EventKind kind, std::string_view path, std::uint64_t forward,
                                   std::string_view type) {
  const char* const what = kind == EventKind::module_output ? "::output" : "::gradient";
  return begin(kind, std::string(type).append(what), {path, type}, forward);
}

Tensor RunBuilder::gradient(const std::string& name, const Values& values, std::string_view path) {
  const Tensor gradient = make(values, name, slot_flag::gradient);
  begin(EventKind::gradient, "torch::autograd::AccumulateGrad", {path, "Linear"}, kNone)
      .returns(gradient);
  return gradient;
}

void RunBuilder::parameters(const std::vector<Tensor>& tensors) {
  EventBuilder event = begin(EventKind::parameters, "parameters", {"", "Net"}, kNone);
  for (const Tensor& tensor : tensors) event.in(tensor);
}

void RunBuilder::leaves(const std::vector<Tensor>& tensors, const std::vector<Tensor>& freed) {
  if (!freed.empty()) {
    EventBuilder event = begin(EventKind::outcome, "end of thread", {"", "Net"}, kNone);
    for (const Tensor& tensor : freed) {
      event.in(tensor);
      event.stored().slots.back().slot.flags &= ~slot_flag::verified;
    }
  }
  EventBuilder event = begin(EventKind::outcome, "end of run", {"", "Net"}, kNone);
  for (const Tensor& tensor : tensors) event.in(tensor);
  event.draws(0);
  records_outcomes_ = false;
}

void RunBuilder::node(std::string_view name, std::uint64_t forward,
                      const std::function<void()>& body, std::optional<std::uint32_t> lane,
                      const std::optional<Tensor>& gradient) {
  EventBuilder event = begin(EventKind::node, name);
  if (gradient) event.in(*gradient);
  event.stored().event.forward = forward;
  event.stored().event.forward_lane = lane.value_or(lane_);
  event.calls(body);
}

EventBuilder RunBuilder::begin(EventKind kind, std::string_view name) {
  if (modules_.empty()) return begin(kind, name, {}, kNone);
  return begin(kind, name, {modules_.back().first, modules_.back().second}, kNone);
}

EventBuilder RunBuilder::begin(EventKind kind, std::string_view name, const ModuleOfEvent& module,
                               std::uint64_t forward) {
  auto& lane = run_->stored[lane_];
  detail::StoredEvent stored;
  stored.op = name;
  stored.step = step_;
  Event& event = stored.event;
  event.kind = kind;
  event.position = lane.events.size();
  event.phase = step_ == kSetup ? Phase::setup : phase_;
  event.threads = threads_;
  if (backward_) event.flags |= event_flag::in_backward;
  if (phase_ == Phase::optimizer && step_ != kSetup && has_optimizer_)
    event.flags |= event_flag::in_optimizer;
  if (!lane.open.empty()) event.parent = lane.events[lane.open.back()].event.position;
  event.depth = static_cast<std::uint16_t>(lane.open.size());
  event.forward = forward;
  event.forward_lane = lane_;
  if (!module.type.empty()) {
    event.has_module = true;
    stored.root = root_;
    stored.module = module.path;
    stored.module_type = module.type;
  }
  lane.open.push_back(lane.events.size());
  lane.events.push_back(std::move(stored));
  return {*this, lane_, lane.events.size() - 1};
}

}  // namespace ulpscope::test
