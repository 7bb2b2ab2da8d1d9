#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "compare/window.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// An op leaves something in the memory of this slot.
[[nodiscard]] constexpr bool writes(const Slot& slot) noexcept {
  constexpr std::uint32_t kNothing = slot_flag::undefined | slot_flag::view |
                                     slot_flag::uninitialised | slot_flag::scratch |
                                     slot_flag::handle;
  return slot.role != Role::input && !(slot.flags & kNothing);
}

/// Memory of one run that ops without a partner have made, and whether any op has read what was
/// written there last. Only those ops have read it.
class AloneMemory {
 public:
  /// Takes in what an op without a partner wrote.
  void wrote(const Event& op);
  /// Takes in what any op reads, and the ops that it calls; before what it writes.
  void read(const Window& window, std::uint32_t item);

  [[nodiscard]] bool made(const Slot& slot) const { return read_.contains(slot.storage); }
  [[nodiscard]] bool is_unread(const Slot& slot) const;
  /// Ops without a partner wrote something.
  [[nodiscard]] bool any() const noexcept { return any_; }
  /// More was written than is kept.
  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }

 private:
  static constexpr std::size_t kKept = std::size_t{1} << 20;

  std::unordered_map<std::uint64_t, bool> read_;  ///< by storage
  bool any_ = false;
  bool overflowed_ = false;
};

}  // namespace ulpscope::comparison
