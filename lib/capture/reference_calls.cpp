#include "capture/reference_calls.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "capture/argument_reader.hpp"
#include "capture/content.hpp"
#include "capture/frames.hpp"
#include "capture/reference_values.hpp"

namespace ulpscope::capture {
namespace {

namespace injection = ring::injection;

[[nodiscard]] std::uint64_t signature_of(const Thread& thread, const OpInfo& info,
                                         c10::ArrayRef<const c10::IValue> inputs) {
  injection::CallSignature signature;
  signature.add_name(info.name);
  signature.add_name(info.overload);
  const Frame* const around = innermost_event(thread, thread.frames.size());
  signature.add_name(around == nullptr ? std::string_view() : std::string_view(around->info->name));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for_each_tensor(inputs[i], [&](const at::Tensor& tensor, std::uint16_t element) {
      if (!tensor.defined() || !has_shape(tensor, tensor.layout())) return;
      signature.add_tensor(static_cast<std::uint16_t>(i), element,
                           static_cast<std::int8_t>(tensor.scalar_type()),
                           {tensor.sizes().data(), tensor.sizes().size()});
    });
  return signature.value();
}

/// Its calls that no other one encloses.
[[nodiscard]] std::pmr::vector<std::uint64_t> outermost_calls(std::uint64_t first,
                                                              std::uint64_t count) {
  std::pmr::vector<std::uint64_t> calls(&process_memory());
  for (std::uint64_t call = first; call < first + count; call += 1 + reference().calls[call].inside)
    calls.push_back(call);
  return calls;
}

void take_lane(ReferenceLane& lane, std::uint64_t first, std::uint64_t count) {
  lane.calls = outermost_calls(first, count);
  std::pmr::vector<std::uint64_t> signatures(&process_memory());
  for (const std::uint64_t call : lane.calls)
    signatures.push_back(reference().calls[call].signature);
  lane.alignment.emplace(std::move(signatures));
}

/// Main threads have each other's lanes; other threads, and backward, the first one that begins as
/// they do.
void choose_lane(ReferenceLane& lane, std::uint64_t signature, bool backward) {
  Reference& known = reference();
  const std::lock_guard guard(known.mutex);
  const bool is_main = getpid() == gettid();
  const bool by_name = is_main && !backward;
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < known.lanes.size(); first += known.lanes[i++].calls) {
    const injection::Lane& other = known.lanes[i];
    if (known.lanes_taken[i] || other.calls == 0 || (other.is_backward != 0) != backward) continue;
    if (!backward && (other.is_main != 0) != is_main) continue;
    if (!by_name && known.calls[first].signature != signature) continue;
    known.lanes_taken[i] = true;
    return take_lane(lane, first, other.calls);
  }
}

[[nodiscard]] Frame* op_around(Thread& thread) {
  const auto op =
      std::find_if(thread.frames.rbegin(), thread.frames.rend(),
                   [](const Frame& frame) { return frame.info->kind == EventKind::op; });
  return op == thread.frames.rend() ? nullptr : &*op;
}

/// The next call inside of the one that the op around has.
[[nodiscard]] std::uint64_t find_inside(ReferenceCall& around, std::uint64_t signature) {
  if (around.number == ring::kNone) return ring::kNone;
  const auto& calls = reference().calls;
  const std::uint64_t first = around.number + 1;
  for (std::uint64_t k = around.passed; k < calls[around.number].inside;) {
    const std::uint64_t call = first + k;
    k += 1 + calls[call].inside;
    if (calls[call].signature != signature) continue;
    around.passed = k;
    return call;
  }
  return ring::kNone;
}

}  // namespace

std::uint64_t find_call(Thread& thread, const OpInfo& info,
                        c10::ArrayRef<const c10::IValue> inputs) {
  const std::uint64_t signature = signature_of(thread, info, inputs);
  if (Frame* const around = op_around(thread)) return find_inside(around->in_reference, signature);
  const Frame* const parent = parent_of(thread);
  const bool backward = parent != nullptr && (parent->flags & event_flag::in_backward) != 0;
  ReferenceLane& lane = thread.in_reference[backward ? 1 : 0];
  if (!lane.alignment) choose_lane(lane, signature, backward);
  if (!lane.alignment) return ring::kNone;
  const std::optional<std::uint64_t> call = lane.alignment->next(signature);
  return call ? lane.calls[*call] : ring::kNone;
}

}  // namespace ulpscope::capture
