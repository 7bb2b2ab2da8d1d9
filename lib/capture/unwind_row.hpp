#pragma once

#include <array>
#include <cstdint>

namespace ulpscope::capture {

/// How a function's frame leads to its caller's while it is at one address: a row of the call frame
/// information that compilers leave in .eh_frame (DWARF 5, section 6.4; Linux Standard Base 5,
/// 10.6), in the forms that they use on x86-64. The return address is just below the frame's end.
struct UnwindRow {
  /// What calls preserve, rbp, rbx, r12 to r15, as DWARF numbers them.
  static constexpr std::array<int, 6> kPreserved = {6, 3, 12, 13, 14, 15};

  enum class Kind : std::uint8_t {
    step,         ///< leads to the caller
    outermost,    ///< has no caller
    unknown,      ///< belongs to no function with this information
    unsupported,  ///< is described in a form that is not supported
  };
  enum class Base : std::uint8_t {
    stack_pointer,
    frame_pointer,
    frame_pointer_word,  ///< the word at that offset from the frame pointer
  };
  enum class Place : std::uint8_t {
    unchanged,
    end,  ///< in memory, from the frame's end
    frame_pointer,
  };
  struct Saved {
    Place place = Place::unchanged;
    std::int32_t offset = 0;
  };

  Kind kind = Kind::unsupported;
  Base base = Base::stack_pointer;  ///< of the frame's end
  std::int32_t offset = 0;          ///< in bytes, like all of them
  std::array<Saved, kPreserved.size()> saved;
};

/// The row of `address`, an instruction of a mapped object. Allocates nothing.
[[nodiscard]] UnwindRow unwind_row(std::uintptr_t address) noexcept;

/// Where the function begins whose instruction is at `address`, 0 if that is not known.
[[nodiscard]] std::uintptr_t function_begin(std::uintptr_t address) noexcept;

}  // namespace ulpscope::capture
