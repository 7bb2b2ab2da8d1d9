#include "compare/diff/outcomes/lone_gradients.hpp"

#include <algorithm>

#include "compare/model/hash.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] const Slot* accumulated_in(const Event& gradient) {
  const auto slot = std::ranges::find_if(gradient.slots, [](const Slot& one) {
    return one.role != Role::input && (one.flags & slot_flag::gradient) && holds_digest(one);
  });
  return slot == gradient.slots.end() ? nullptr : &*slot;
}

[[nodiscard]] std::uint64_t parameter_key(const Event& gradient, const Slot& slot) {
  return slot.name.empty() ? KeyHash().add(slot.storage).value()
                           : KeyHash().add(gradient.root).add(slot.name).value();
}

}  // namespace

void LoneGradients::accumulated(const Lane& lane, const Event& gradient, bool anew, bool alone) {
  if (!alone && left_.empty()) return;
  const Slot* const slot = accumulated_in(gradient);
  if (slot == nullptr || !anew) return;
  const std::uint64_t key = parameter_key(gradient, *slot);
  left_.erase(key);
  if (alone && left_.size() < kMost)
    left_.emplace(
        key, Left{{slot->storage, content_of(*slot)}, lane.id, lane.role == LaneRole::autograd});
}

void LoneGradients::reset(const Lane& lane) {
  std::erase_if(
      left_, [&](const auto& one) { return one.second.of_autograd || one.second.lane == lane.id; });
}

void LoneGradients::zeroed(const Event& op) {
  if (left_.empty()) return;
  std::erase_if(left_, [&](const auto& one) {
    return std::ranges::any_of(op.slots, [&](const Slot& slot) {
      return slot.role == Role::mutated && slot.storage == one.second.gradient.storage;
    });
  });
}

std::vector<LoneGradients::Gradient> LoneGradients::left() const {
  std::vector<Gradient> gradients;
  for (const auto& [key, one] : left_) gradients.push_back(one.gradient);
  return gradients;
}

}  // namespace ulpscope::comparison
