#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ulpscope/dtype.hpp"

namespace ulpscope::comparison {

/// One number of a tensor; a complex element gives two.
struct Number {
  double value = 0;
  /// Place on the dtype's lattice: neighbours are 1 apart and both zeros are 0. For integers the
  /// number itself.
  std::int64_t place = 0;
};

/// Reads packed elements; empty for a dtype without numbers of its own (quantised, unknown).
[[nodiscard]] std::optional<std::vector<Number>> decode(Dtype dtype,
                                                        std::span<const std::byte> bytes);

/// Steps between two places, as large as it gets.
[[nodiscard]] constexpr std::uint64_t apart(const Number& a, const Number& b) noexcept {
  return a.place > b.place
             ? static_cast<std::uint64_t>(a.place) - static_cast<std::uint64_t>(b.place)
             : static_cast<std::uint64_t>(b.place) - static_cast<std::uint64_t>(a.place);
}

}  // namespace ulpscope::comparison
