#include "compare/measure/budget/operands.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace ulpscope::comparison::budget {
namespace {

constexpr std::uint32_t kExponent = 0x7f800000;

/// Keeps `kept` of the 23 bits of the mantissa, to nearest even.
[[nodiscard]] std::uint32_t rounded(std::uint32_t bits, unsigned kept) noexcept {
  if ((bits & kExponent) == kExponent) return bits;
  const unsigned dropped = 23 - kept;
  const std::uint32_t half = (std::uint32_t{1} << (dropped - 1)) - 1;
  const std::uint32_t odd = (bits >> dropped) & 1;
  return (bits + half + odd) & ~((std::uint32_t{1} << dropped) - 1);
}

[[nodiscard]] std::uint32_t cut(std::uint32_t bits, unsigned kept) noexcept {
  if ((bits & kExponent) == kExponent) return bits;
  return bits & ~((std::uint32_t{1} << (23 - kept)) - 1);
}

/// As in float16: numbers below 2^-14 in steps of 2^-24, infinity from 65520 on.
[[nodiscard]] std::uint32_t to_float16(std::uint32_t bits) noexcept {
  constexpr float kSmallestNormal = 0x1p-14F;
  constexpr float kStep = 0x1p-24F;
  constexpr float kInfiniteFrom = 65520.0F;
  const float value = std::bit_cast<float>(bits);
  const float size = std::abs(value);
  if (std::isnan(value)) return bits;
  if (size >= kInfiniteFrom) return (bits & ~kExponent & 0x80000000U) | kExponent;
  if (size >= kSmallestNormal) return rounded(bits, 10);
  return std::bit_cast<std::uint32_t>(std::nearbyint(value / kStep) * kStep);
}

[[nodiscard]] std::uint32_t rounded_to(Operands operands, std::uint32_t bits) noexcept {
  switch (operands) {
    case Operands::recorded:
      break;
    case Operands::tf32:
      return rounded(bits, 10);
    case Operands::tf32_cut:
      return cut(bits, 10);
    case Operands::bfloat16:
      return rounded(bits, 7);
    case Operands::float16:
      return to_float16(bits);
  }
  return bits;
}

}  // namespace

std::string_view name(Operands operands) noexcept {
  switch (operands) {
    case Operands::recorded:
      return "recorded";
    case Operands::tf32:
    case Operands::tf32_cut:
      return "TF32";
    case Operands::bfloat16:
      return "bfloat16";
    case Operands::float16:
      return "float16";
  }
  return {};
}

void round_operands(Operands operands, Dtype dtype, std::vector<std::byte>& bytes) {
  if (dtype != Dtype::float32 || operands == Operands::recorded) return;
  for (std::size_t at = 0; at + sizeof(std::uint32_t) <= bytes.size();
       at += sizeof(std::uint32_t)) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, bytes.data() + at, sizeof(bits));
    bits = rounded_to(operands, bits);
    std::memcpy(bytes.data() + at, &bits, sizeof(bits));
  }
}

}  // namespace ulpscope::comparison::budget
