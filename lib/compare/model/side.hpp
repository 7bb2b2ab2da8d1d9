#pragma once

#include <array>
#include <cstdint>

#include "ulpscope/report.hpp"

namespace ulpscope::comparison {

enum class Side : std::uint8_t { reference, candidate };

inline constexpr std::array<Side, 2> kSides{Side::reference, Side::candidate};

[[nodiscard]] constexpr Side the_other(Side side) noexcept {
  return side == Side::reference ? Side::candidate : Side::reference;
}

template <class T>
[[nodiscard]] constexpr T& on(Both<T>& both, Side side) noexcept {
  return side == Side::reference ? both.reference : both.candidate;
}

template <class T>
[[nodiscard]] constexpr const T& on(const Both<T>& both, Side side) noexcept {
  return side == Side::reference ? both.reference : both.candidate;
}

[[nodiscard]] constexpr const char* name(Side side) noexcept {
  return side == Side::reference ? "reference" : "candidate";
}

}  // namespace ulpscope::comparison
