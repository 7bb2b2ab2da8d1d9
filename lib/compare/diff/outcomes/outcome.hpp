#pragma once

#include <cstdint>

#include "compare/model/window.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Something that a run leaves: memory, as it is when the run ends or when it is freed; or, without
/// a slot, a place where it leaves something else.
struct Outcome {
  HeldEvent event;
  const Slot* slot = nullptr;
  Lane lane;
  bool stands = false;    ///< it was live when the run ended
  bool outlived = false;  ///< it was live when a later op ran, or when the run ended
  bool alone = false;     ///< ops that only this run has made it
};

/// What holds memory from step to step, where it is known.
enum class KeptBy : std::uint8_t { other, optimizer, parameter };

/// A parameter keeps its gradient as long as the program does not reset it.
[[nodiscard]] KeptBy kept_by(const Outcome& outcome) noexcept;

[[nodiscard]] constexpr bool is_kept_by_optimizer(const Slot& slot) noexcept {
  return slot.flags & slot_flag::optimizer_state;
}

/// A parameter or a buffer.
[[nodiscard]] constexpr bool is_state(const Slot& slot) noexcept {
  return slot.flags & (slot_flag::parameter | slot_flag::buffer);
}

/// Its name says what it is in both runs.
[[nodiscard]] bool is_named(const Slot& slot) noexcept;

/// What it holds was recorded, and recorded ops have filled it.
[[nodiscard]] bool is_known(const Slot& slot) noexcept;

/// Memory that no recorded op has filled: its content was left by others, or the program wrote it.
[[nodiscard]] bool is_unfilled(const Slot& slot) noexcept;

/// Whether two that are known are tensors of one size and dtype.
[[nodiscard]] bool is_alike(const Slot& one, const Slot& other);

}  // namespace ulpscope::comparison
