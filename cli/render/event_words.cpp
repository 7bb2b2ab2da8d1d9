#include "cli/render/event_words.hpp"

#include <iterator>
#include <span>

#include "core/torch_names.hpp"

namespace ulpscope::cli {
namespace {

struct Flag {
  std::uint32_t bit;
  Word word;
};

constexpr Flag kEventFlags[] = {
    {event_flag::grad_mode, {"grad_mode", "grad mode"}},
    {event_flag::inference_mode, {"inference_mode", "inference mode"}},
    {event_flag::in_backward, {"in_backward", "in backward"}},
    {event_flag::in_optimizer, {"in_optimizer", "in optimizer"}},
    {event_flag::autocast, {"autocast", "autocast"}},
    {event_flag::autocast_other, {"autocast_other", "to the device's other 16-bit dtype"}},
    {event_flag::flush_denormal, {"flush_denormal", "flushes denormals"}},
    {event_flag::threw, {"threw", "ended by an exception"}},
    {event_flag::seeded, {"seeded", "may draw random numbers"}},
    {event_flag::explicit_generator, {"explicit_generator", "explicit generator"}},
    {event_flag::deterministic, {"deterministic", "deterministic algorithms"}},
    {event_flag::not_deterministic, {"not_deterministic", "may differ every time"}},
    {event_flag::module_from_parameter, {"module_from_parameter", "module known by its parameter"}},
    {event_flag::unfinished, {"unfinished", "unfinished"}},
    {event_flag::view, {"view", "view"}},
    {event_flag::factory, {"factory", "factory"}},
};

constexpr Flag kSlotFlags[] = {
    {slot_flag::undefined, {"undefined", "undefined"}},
    {slot_flag::view, {"view", "view"}},
    {slot_flag::uninitialised, {"uninitialised", "uninitialised"}},
    {slot_flag::changed, {"changed", "changed outside recorded ops"}},
    {slot_flag::unproduced, {"unproduced", "produced by no recorded op"}},
    {slot_flag::verified, {"verified", "verified"}},
    {slot_flag::parameter, {"parameter", "parameter"}},
    {slot_flag::buffer, {"buffer", "buffer"}},
    {slot_flag::gradient, {"gradient", "gradient"}},
    {slot_flag::optimizer_state, {"optimizer_state", "optimizer state"}},
    {slot_flag::requires_grad, {"requires_grad", "requires grad"}},
    {slot_flag::wrapped_number, {"number", "number"}},
    {slot_flag::handle, {"handle", "handle"}},
    {slot_flag::opaque, {"opaque", "opaque"}},
    {slot_flag::overwritten, {"overwritten", "overwritten"}},
    {slot_flag::scratch, {"scratch", "scratch"}},
    {slot_flag::freed, {"freed", "freed"}},
    {slot_flag::has_content, {"has_bytes", "bytes recorded"}},
};

std::vector<Word> words_of(std::uint32_t bits, std::span<const Flag> flags) {
  std::vector<Word> words;
  for (const Flag& flag : flags) {
    if ((bits & flag.bit) != 0) words.push_back(flag.word);
  }
  return words;
}

}  // namespace

Word kind_word(EventKind kind) {
  switch (kind) {
    case EventKind::op:
      return {"op", "op"};
    case EventKind::node:
      return {"node", "backward node"};
    case EventKind::scope:
      return {"scope", "scope"};
    case EventKind::module:
      return {"module", "module"};
    case EventKind::gradient:
      return {"gradient", "gradient"};
    case EventKind::optimizer:
      return {"optimizer", "optimizer step"};
    case EventKind::zero_grad:
      return {"zero_grad", "zero_grad"};
    case EventKind::step:
      return {"step", "step"};
    case EventKind::module_output:
      return {"module_output", "module output"};
    case EventKind::module_gradient:
      return {"module_gradient", "module gradient"};
    case EventKind::parameters:
      return {"parameters", "parameters"};
    case EventKind::kernel:
      return {"kernel", "kernel"};
    case EventKind::outcome:
      return {"outcome", "outcome"};
  }
  return {"unknown", "unknown"};
}

std::vector<Word> event_states(std::uint32_t flags) { return words_of(flags, kEventFlags); }

std::vector<Word> slot_states(std::uint32_t flags) { return words_of(flags, kSlotFlags); }

std::string_view role_name(LaneRole role) {
  constexpr std::string_view kNames[] = {"main", "autograd", "worker", "thread", "trainer"};
  const auto number = static_cast<std::size_t>(role);
  return number < std::size(kNames) ? kNames[number] : "unknown";
}

std::string_view slot_name(const Event& event, const Slot& slot) {
  if (!slot.name.empty()) return slot.name;
  return core::nth_name(slot.role == Role::output ? event.return_names : event.argument_names,
                        slot.index);
}

}  // namespace ulpscope::cli
