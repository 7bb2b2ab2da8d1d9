#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace ulpscope::ring {

/// Where a function finds its `this` at one address of its code: base + offset, or the word at that
/// place.
struct SelfPlace {
  static constexpr std::uint16_t kNowhere = 0xffff;
  static constexpr std::uint16_t kFrameEnd = 0xfffe;  ///< the address after the frame's last word

  std::uint16_t base = kNowhere;  ///< a register as DWARF numbers them, or one of the above
  std::uint16_t in_memory = 0;    ///< 1: it is the word at base + offset; 0: it is base + offset
  std::int32_t offset = 0;        ///< bytes
};

/// Member functions that the compiler has inlined into another function, at one address: what the
/// writer reads from debug information for a recorded program.
struct InlinedCalls {
  static constexpr std::size_t kMost = 8;

  struct Call {
    std::uint64_t id = 0;  ///< the same at every address of this inlined call
    SelfPlace self;
    std::uint32_t name_begin = 0;
    std::uint32_t name_size = 0;
  };

  std::uint32_t has_debug_information = 0;  ///< of the object as a whole
  std::uint32_t is_member = 0;  ///< the function whose code it is, where it is known to be one
  SelfPlace function_self;      ///< of that function
  std::uint32_t count = 0;
  std::array<Call, kMost> calls{};  ///< outermost first
  std::array<char, 4096> names{};

  /// False if there is no space for it.
  bool add(std::uint64_t id, const SelfPlace& self, std::string_view name) noexcept {
    const std::size_t begin =
        count == 0 ? 0 : calls[count - 1].name_begin + std::size_t{calls[count - 1].name_size};
    if (count == kMost || name.size() > names.size() - begin) return false;
    std::memcpy(names.data() + begin, name.data(), name.size());
    calls[count++] = {id, self, static_cast<std::uint32_t>(begin),
                      static_cast<std::uint32_t>(name.size())};
    return true;
  }

  [[nodiscard]] std::size_t size() const noexcept { return count < kMost ? count : kMost; }

  /// The function's mangled name, up to its own; parameters may be left out.
  /// @pre index is below size().
  [[nodiscard]] std::string_view name(std::size_t index) const noexcept {
    const Call& call = calls[index];
    if (call.name_begin > names.size() || call.name_size > names.size() - call.name_begin)
      return {};
    return {names.data() + call.name_begin, call.name_size};
  }
};

static_assert(std::is_trivially_copyable_v<InlinedCalls>);

}  // namespace ulpscope::ring
