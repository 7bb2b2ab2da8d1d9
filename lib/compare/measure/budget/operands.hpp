#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ulpscope/dtype.hpp"

namespace ulpscope::comparison::budget {

/// What matrix units make of float32 operands before they multiply them.
enum class Operands : std::uint8_t {
  recorded,  ///< nothing
  tf32,      ///< 10 bits of mantissa, to nearest even
  tf32_cut,  ///< the same, truncated
  bfloat16,  ///< 7 bits
  float16,   ///< 10 bits and the smaller range
};

/// "TF32", "bfloat16", "float16".
[[nodiscard]] std::string_view name(Operands operands) noexcept;

/// Rounds packed numbers of `dtype`, which is unchanged where it is not float32.
void round_operands(Operands operands, Dtype dtype, std::vector<std::byte>& bytes);

}  // namespace ulpscope::comparison::budget
