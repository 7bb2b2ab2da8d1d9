#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ring/injection.hpp"

namespace ulpscope::ring {

enum class Level : std::uint8_t {
  digest,  ///< digests only
  stats,   ///< digests and statistics
  full,    ///< digests and bytes
};

enum class Verify : std::uint8_t {
  full,  ///< an input is digested again whenever user code could have run since its last digest
  off,   ///< inputs are trusted to be what was last digested
};

enum class CaptureScope : std::uint8_t {
  ops,     ///< every op
  layers,  ///< module outputs, gradients and parameters
};

/// Bounded text in a message: what does not fit is truncated.
template <std::size_t Size>
struct Text {
  char bytes[Size] = {};

  constexpr void set(std::string_view text) noexcept {
    const std::size_t length = text.size() < Size ? text.size() : Size - 1;
    for (std::size_t i = 0; i < Size; ++i) bytes[i] = i < length ? text[i] : '\0';
  }
  [[nodiscard]] constexpr bool fits(std::string_view text) const noexcept {
    return text.size() < Size;
  }
  /// Up to the first NUL, never past the end.
  [[nodiscard]] constexpr std::string_view view() const noexcept {
    std::size_t length = 0;
    while (length < Size && bytes[length] != '\0') ++length;
    return {bytes, length};
  }
};

inline constexpr std::uint64_t kDigestRingBytes = std::uint64_t{8} << 20;
inline constexpr std::uint64_t kFullRingBytes = std::uint64_t{64} << 20;

[[nodiscard]] constexpr std::uint64_t default_ring_bytes(Level level) noexcept {
  return level == Level::full ? kFullRingBytes : kDigestRingBytes;
}

/// In which code the calls that led to an op are recorded.
enum class Stacks : std::uint8_t {
  python,  ///< the program's Python code, which costs little and needs no debug information
  all,     ///< compiled code, too
  none,
};

/// What the writer sends to every process that it records. Copied byte by byte. Setup is recorded
/// if the steps begin at 0; an empty range, `first_step` above `last_step`, is only setup.
struct Settings {
  std::uint64_t first_step = 0;
  std::uint64_t last_step = ~std::uint64_t{0};  ///< inclusive
  /// With Level::full, the steps of which bytes are kept, and stacks if they are recorded.
  std::uint64_t first_full_step = 0;
  std::uint64_t last_full_step = ~std::uint64_t{0};  ///< inclusive
  std::uint64_t ring_bytes = 0;                      ///< per thread; 0: default_ring_bytes(level)
  std::uint32_t give_up_milliseconds = 10'000;  ///< longest wait for a writer that does not move
  Level level = Level::digest;
  Verify verify = Verify::full;
  CaptureScope capture = CaptureScope::ops;
  Stacks stacks = Stacks::python;  ///< where in the program an op was called
  std::uint8_t kernels = 0;        ///< 1: record which kernels an op launches on a GPU
  std::int8_t mkldnn = -1;         ///< the program begins with it 1: on, 0: off; -1: as it is
  std::int8_t deterministic = -1;  ///< likewise, deterministic algorithms
  Text<512> modules;               ///< globs, one a line; empty: all
  Text<512> ops;                   ///< globs, one a line; empty: all
  Text<512> ignore;                ///< globs, one a line; empty: nothing
  Text<512> full_ops;              ///< with Level::full, the ops of which bytes are kept; as `ops`
  Text<512> injection;  ///< a file of values that ops are given (injection.hpp); empty: none
  injection::At inject_at = injection::At::op;
};

}  // namespace ulpscope::ring
