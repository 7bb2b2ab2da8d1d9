#include "compare/diff/outcomes/outcome.hpp"

#include "compare/model/content.hpp"

namespace ulpscope::comparison {

KeptBy kept_by(const Outcome& outcome) noexcept {
  if (is_kept_by_optimizer(*outcome.slot)) return KeptBy::optimizer;
  const bool is_gradient = outcome.slot->flags & slot_flag::gradient;
  return outcome.stands && is_gradient ? KeptBy::parameter : KeptBy::other;
}

bool is_named(const Slot& slot) noexcept {
  constexpr std::uint32_t kNamed =
      slot_flag::parameter | slot_flag::buffer | slot_flag::gradient | slot_flag::optimizer_state;
  return !slot.name.empty() && (slot.flags & kNamed);
}

bool is_known(const Slot& slot) noexcept {
  return !(slot.flags & (slot_flag::no_digest | slot_flag::uninitialised)) &&
         slot.geometry != nullptr;
}

bool is_unfilled(const Slot& slot) noexcept {
  return slot.flags & slot_flag::uninitialised && !(slot.flags & slot_flag::no_digest) &&
         slot.geometry != nullptr;
}

bool is_alike(const Slot& one, const Slot& other) {
  return bytes_of(one) == bytes_of(other) && one.geometry->dtype == other.geometry->dtype;
}

}  // namespace ulpscope::comparison
