#include "capture/injection.hpp"

#include <optional>
#include <string>
#include <utility>

#include "capture/argument_reader.hpp"
#include "capture/filter.hpp"
#include "capture/frames.hpp"
#include "capture/injection_target.hpp"
#include "capture/memory.hpp"
#include "capture/recorder.hpp"
#include "capture/reference_calls.hpp"
#include "capture/reference_values.hpp"
#include "capture/value.hpp"

namespace ulpscope::capture {

namespace detail {
std::atomic<bool> injection_switch{false};
}

namespace {

namespace injection = ring::injection;

[[nodiscard]] const OpInfo& inject_info() {
  static const OpInfo& info = named_info(EventKind::op, kInject);
  return info;
}

/// The event that gives the values of one op.
class Injection {
 public:
  explicit Injection(Thread& thread) : thread_(thread) {}
  Injection(const Injection&) = delete;
  Injection& operator=(const Injection&) = delete;
  ~Injection() = default;

  /// Gives a tensor the value, if it has another one.
  void give(const at::Tensor& tensor, const injection::Value& value) {
    if (!InjectionTarget::can_be(tensor)) return;
    InjectionTarget target(thread_, tensor);
    const std::optional<Digest> now = target.digest();
    if (!now || has_digest(value, *now) || !target.fill(value)) return;
    if (!begun_) begin();
    const Writer writer{thread_.frames.back().position, thread_.lane(), thread_.moment};
    const Place place{Role::mutated, value.index, value.element};
    ring::SlotRow row = see_written(thread_, tensor, place, writer, /*already_written=*/false).row;
    row.flags &= ~slot_flag::parameter;  // it is no update: no optimizer steps here
    thread_.slots.push_back(row);
    reference().given.fetch_add(1, std::memory_order_relaxed);
  }

  void end() {
    if (begun_) end_innermost(thread_);
  }

 private:
  void begin() {
    begun_ = true;
    Frame frame = new_event(thread_, inject_info());
    frame.trusted = true;
    frame.flags &= ~event_flag::grad_mode;
    frame.first_storage = storages().next_id();
    thread_.frames.push_back(std::move(frame));
  }

  Thread& thread_;
  bool begun_ = false;
};

[[nodiscard]] bool is_read(const OpInfo& info, std::size_t index) {
  const Access access = index < info.arguments.size() ? info.arguments[index].access : Access::read;
  return access == Access::read || access == Access::written;
}

/// What the op reads without having it given.
[[nodiscard]] bool reads_the_same(Thread& thread, const OpInfo& info, const injection::Call& call,
                                  c10::ArrayRef<const c10::IValue> inputs) {
  bool same = true;
  for (std::size_t i = 0; i < inputs.size() && same; ++i) {
    if (!is_read(info, i)) continue;
    for_each_tensor(inputs[i], [&](const at::Tensor& tensor, std::uint16_t element) {
      const auto* const value =
          find_value(call, Role::input, static_cast<std::uint16_t>(i), element);
      if (value == nullptr || !same || !InjectionTarget::can_be(tensor)) return;
      const std::optional<Digest> now = InjectionTarget(thread, tensor).digest();
      same = now && has_digest(*value, *now);
    });
  }
  return same;
}

}  // namespace

void begin_injection() noexcept {
  detail::injection_switch.store(!settings().injection.view().empty(), std::memory_order_relaxed);
}

ReferenceCall inject_inputs(Thread& thread, const OpInfo& info,
                            c10::ArrayRef<const c10::IValue> inputs) {
  ReferenceCall found{.number = find_call(thread, info, inputs)};
  reference().ops.fetch_add(1, std::memory_order_relaxed);
  if (found.number == ring::kNone) return found;
  reference().found.fetch_add(1, std::memory_order_relaxed);
  if (is_in_kernel(thread)) return found;
  const injection::Call& call = reference().calls[found.number];
  const ValuesOfOp values(thread, info);
  if ((call.flags & injection::call_flag::gives_results) != 0) {
    found.same_inputs = reads_the_same(thread, info, call, inputs);
    return found;
  }
  if ((call.flags & injection::call_flag::gives_inputs) == 0) return found;
  Injection given(thread);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_read(info, i)) continue;
    const auto index = static_cast<std::uint16_t>(i);
    for_each_tensor(inputs[i], [&](const at::Tensor& tensor, std::uint16_t element) {
      if (const auto* const value = find_value(call, Role::input, index, element))
        given.give(tensor, *value);
    });
  }
  given.end();
  return found;
}

void inject_results(Thread& thread, const ReferenceCall& call, c10::ArrayRef<LeftByOp> left) {
  if (call.number == ring::kNone || !call.same_inputs) return;
  Injection given(thread);
  for (const LeftByOp& one : left)
    if (const auto* const value =
            find_value(reference().calls[call.number], one.role, one.index, one.element))
      given.give(one.tensor, *value);
  given.end();
}

void tell_injection(Thread& thread) {
  if (!injects()) return;
  const Reference& known = reference();
  const std::uint64_t given = known.given.load(std::memory_order_relaxed);
  const std::uint64_t alone =
      known.ops.load(std::memory_order_relaxed) - known.found.load(std::memory_order_relaxed);
  std::pmr::string text(&process_memory());
  if (known.found.load(std::memory_order_relaxed) == 0) {
    text = "no op has its call in the other run (--inject): nothing was given";
  } else {
    text = std::to_string(given);
    text += given == 1 ? " value of another run was" : " values of another run were";
    text += " given to its ops (--inject)";
    text += given == 0 ? ", nothing differed" : ": its results are not its own";
    if (alone > 0) text += "; " + std::to_string(alone) + " of its ops have no call there";
  }
  thread.send_notice(text, /*fatal=*/false);
}

}  // namespace ulpscope::capture
