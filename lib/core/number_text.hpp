#pragma once

#include <cstdint>
#include <string>

#include "ulpscope/dtype.hpp"

namespace ulpscope::core {

/// Bits of one number of a dtype: of an element, or of a part of a complex one.
[[nodiscard]] std::size_t number_bits(Dtype dtype) noexcept;

/// The number as the shortest decimal that reads back in its own dtype. Types without a rule of
/// their own are unsigned integers.
[[nodiscard]] std::string number_text(Dtype dtype, std::uint64_t bits);

/// "(1+2j)".
[[nodiscard]] std::string complex_text(Dtype dtype, std::uint64_t real, std::uint64_t imaginary);

}  // namespace ulpscope::core
