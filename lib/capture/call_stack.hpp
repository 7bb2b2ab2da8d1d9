#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>

#include "capture/pointer_map.hpp"
#include "capture/unwind_row.hpp"
#include "ring/inlined_calls.hpp"

/// The calls that led to a hook, without debug information and without the program's help.
namespace ulpscope::capture {

struct CallFrame {
  std::uintptr_t address = 0;  ///< where the call returns to, in this frame's function
  std::uintptr_t stack = 0;    ///< the stack pointer at the call; the next frame's ends this one
  /// The registers that calls preserve, the one that may hold a frame pointer first.
  std::array<std::uintptr_t, 6> saved{};
};

/// Frames of one moment, innermost first.
class CallStack {
 public:
  static constexpr std::size_t kMost = 96;

  explicit CallStack(std::pmr::memory_resource* memory) : rows_(memory) {}

  /// Takes the calling thread's frames, hooks and dispatcher included. The unwind rule of an
  /// address is looked up once. Stacks with a frame whose rule is not in one of the usual forms are
  /// left to libgcc's unwinder, which takes fifteen times as many instructions.
  void take() noexcept;

  /// Without the outermost frame, whose end is not known.
  [[nodiscard]] std::size_t size() const noexcept { return size_ == 0 ? 0 : size_ - 1; }
  [[nodiscard]] const CallFrame& operator[](std::size_t index) const noexcept {
    return frames_[index];
  }
  /// The address after a frame's last word: stays the same while its function runs.
  [[nodiscard]] std::uintptr_t end_of(std::size_t index) const noexcept {
    return frames_[index + 1].stack;
  }
  /// The content of a place that debug information names; 0 if a call does not preserve it or it
  /// lies outside the stack.
  [[nodiscard]] std::uintptr_t at(std::size_t index, const ring::SelfPlace& place) const noexcept;
  /// The content of a frame, or of its outer 4 KiB.
  [[nodiscard]] std::span<const std::uintptr_t> words(std::size_t index) const noexcept;

 private:
  /// False if a frame cannot be unwound this way.
  bool take_by_rows(const CallFrame& innermost);
  const UnwindRow& row_of(std::uintptr_t address);

  std::array<CallFrame, kMost> frames_;
  std::size_t size_ = 0;
  PointerMap<UnwindRow> rows_;

  friend struct StackReader;
};

}  // namespace ulpscope::capture
