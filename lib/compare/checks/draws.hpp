#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compare/checks/check.hpp"

namespace ulpscope::comparison {

/// The seed of LibTorch's CPU generators that nobody has seeded (c10::default_rng_seed_val).
inline constexpr std::uint64_t kDefaultSeed = 67280421310721ULL;

/// Seeds that people write are small; one from the operating system has 53 random bits.
[[nodiscard]] constexpr bool looks_drawn(std::uint64_t seed) noexcept {
  return seed != kDefaultSeed && seed >= (std::uint64_t{1} << 32);
}

/// Collects who draws random numbers from what.
class DrawCollector {
 public:
  void see(const Lane& lane, const Block& block);

  /// Was LibTorch's default generator seeded, and by the program?
  [[nodiscard]] Check check_seeds() const;
  /// Do several threads draw from one generator?
  [[nodiscard]] Check check_generators() const;

 private:
  struct Generator {
    std::uint64_t draws = 0;
    std::map<std::string, std::uint64_t> by_lane;
    std::string first;  ///< the first op that drew, in words
  };
  struct Name {
    bool is_default;
    std::uint64_t seed;
    friend auto operator<=>(const Name&, const Name&) = default;
  };
  std::map<Name, Generator> generators_;
};

}  // namespace ulpscope::comparison
