#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "ulpscope/digest.hpp"

namespace ulpscope::comparison {

/// Collects fields into a 64-bit key for tables that live no longer than one comparison. Keys are
/// never written anywhere and never decide equality of values.
class KeyHash {
 public:
  KeyHash& add(std::uint64_t value) noexcept {
    state_ = mix(state_ ^ value);
    return *this;
  }
  KeyHash& add(std::string_view text) noexcept {
    return add(std::uint64_t{std::hash<std::string_view>{}(text)});
  }
  KeyHash& add(const Digest& digest) noexcept { return add(digest.high).add(digest.low); }

  [[nodiscard]] std::uint64_t value() const noexcept { return state_; }

 private:
  // splitmix64's finalizer: every input bit reaches every output bit.
  static constexpr std::uint64_t mix(std::uint64_t x) noexcept {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }

  std::uint64_t state_ = 0;
};

}  // namespace ulpscope::comparison
