#pragma once

#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/unit/core/lattice.hpp"
#include "ulpscope/difference.hpp"

/// difference(), computed slowly: element by element in logical order, in 128-bit integers and long
/// double, from the definitions in the header.
namespace ulpscope::test {

/// What the numbers of a dtype are; complex dtypes decode one part.
class NumberReader {
 public:
  explicit NumberReader(Dtype dtype) : dtype_(dtype) {
    const Dtype part = dtype == Dtype::complex32 ? Dtype::float16 : dtype;
    for (const FormatDescription& format : kSmallFormats)
      if (format.dtype == part) lattice_ = &lattice_of(format);
  }

  Number operator()(std::uint64_t bits) const {
    if (lattice_ != nullptr) return (*lattice_)[bits];
    switch (dtype_) {
      case Dtype::float32:
      case Dtype::complex64:
        return decode_native<float>(static_cast<std::uint32_t>(bits));
      case Dtype::float64:
      case Dtype::complex128:
        return decode_native<double>(bits);
      case Dtype::int8:
        return integer(static_cast<std::int8_t>(bits));
      case Dtype::int16:
        return integer(static_cast<std::int16_t>(bits));
      case Dtype::int32:
        return integer(static_cast<std::int32_t>(bits));
      case Dtype::int64:
        return integer(static_cast<std::int64_t>(bits));
      default:
        return integer(bits);
    }
  }

 private:
  static Number integer(Wide value) {
    Number number;
    number.position = value;
    number.value = static_cast<double>(value);
    return number;
  }

  Dtype dtype_;
  const Lattice* lattice_ = nullptr;
};

struct Expected {
  Difference difference;
  double rms = 0;
};

inline Expected expected_difference(Dtype dtype, const std::vector<std::int64_t>& shape,
                                    const std::vector<std::int64_t>& strides,
                                    std::span<const std::byte> reference,
                                    std::span<const std::byte> candidate) {
  const std::size_t parts = is_complex(dtype) ? 2 : 1;
  const std::size_t size = element_size(dtype) / parts;
  const NumberReader read(dtype);
  const bool integers = !is_complex(dtype) && !is_floating_point(dtype);
  const auto bits_at = [&](std::span<const std::byte> bytes, std::size_t number) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + number * size, size);
    return bits;
  };

  Expected expected;
  Difference& result = expected.difference;
  std::map<std::uint64_t, std::uint64_t> bins;
  long double square_sum = 0;
  std::uint64_t finite = 0;
  long double distance_sum = 0;
  std::uint64_t with_distance = 0;
  double reference_max = 0;
  int worst_class = 0;
  long double worst_size = 0;

  std::vector<std::int64_t> index(shape.size(), 0);
  bool more = true;
  for (const std::int64_t length : shape) more = more && length > 0;
  std::uint64_t sums[2] = {0, 0};
  while (more) {
    std::int64_t place = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) place += index[i] * strides[i];

    ++result.elements;
    bool nan[2] = {false, false}, inf[2] = {false, false}, subnormal[2] = {false, false};
    bool differs = false, flipped = false;
    std::uint64_t distance = 0;
    double furthest = 0;
    int element_class = 0;
    long double element_size_of = 0;
    std::size_t element_part = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t at = static_cast<std::size_t>(place) * parts + part;
      const std::uint64_t bits[2] = {bits_at(reference, at), bits_at(candidate, at)};
      const Number number[2] = {read(bits[0]), read(bits[1])};
      sums[0] += bits[0];
      sums[1] += bits[1];
      for (int side = 0; side < 2; ++side) {
        nan[side] |= number[side].nan;
        inf[side] |= number[side].infinite;
        subnormal[side] |= number[side].subnormal;
      }
      if (!number[0].nan && !number[0].infinite)
        reference_max = std::max(reference_max, std::abs(number[0].value));
      const bool part_differs = bits[0] != bits[1];
      differs |= part_differs;
      int part_class = 0;
      long double part_size = 0;
      if (number[0].nan || number[1].nan) {
        part_class = number[0].nan && number[1].nan ? 1 : 4;
      } else {
        const Wide apart = number[0].position - number[1].position;
        const auto steps = static_cast<std::uint64_t>(apart < 0 ? -apart : apart);
        distance = std::max(distance, steps);
        flipped |= part_differs && steps == 0;
        if (number[0].infinite || number[1].infinite) {
          part_class = 3;
        } else {
          part_class = 2;
          const double d =
              integers ? static_cast<double>(steps) : std::abs(number[0].value - number[1].value);
          furthest = std::max(furthest, d);
          part_size = integers ? static_cast<long double>(steps) : d;
        }
      }
      if (part_differs && (part_class > element_class ||
                           (part_class == element_class && part_size > element_size_of))) {
        element_class = part_class;
        element_size_of = part_size;
        element_part = part;
      }
    }
    result.differing += differs ? 1 : 0;
    result.nan.reference += nan[0];
    result.nan.candidate += nan[1];
    result.inf.reference += inf[0];
    result.inf.candidate += inf[1];
    result.subnormal.reference += subnormal[0];
    result.subnormal.candidate += subnormal[1];
    if (!nan[0] && !nan[1]) {
      result.signed_zero += flipped ? 1 : 0;
      result.ulp_max = std::max(result.ulp_max, distance);
      std::uint64_t bound = 0;
      for (std::uint64_t power = 1; power != 0 && power <= distance; power *= 2) bound = power;
      ++bins[bound];
      if (differs) {
        distance_sum += static_cast<long double>(distance);
        ++with_distance;
      }
      if (!inf[0] && !inf[1]) {
        ++finite;
        square_sum += static_cast<long double>(furthest) * furthest;
        result.absolute_max = std::max(result.absolute_max, furthest);
      }
    }
    if (differs && (element_class > worst_class ||
                    (element_class == worst_class && element_size_of > worst_size))) {
      worst_class = element_class;
      worst_size = element_size_of;
      WorstElement worst;
      worst.index = index;
      const std::size_t at = static_cast<std::size_t>(place) * parts + element_part;
      worst.bits = {bits_at(reference, at), bits_at(candidate, at)};
      worst.bit_width = size * 8;
      result.worst = worst;
    }

    std::size_t level = shape.size();
    more = false;
    while (level > 0) {
      --level;
      if (strides[level] != 0 && ++index[level] < shape[level]) {
        more = true;
        break;
      }
      index[level] = 0;
    }
  }

  for (const auto& [bound, count] : bins) result.histogram.push_back({bound, count});
  if (with_distance > 0)
    result.ulp_mean = static_cast<double>(distance_sum / static_cast<long double>(with_distance));
  if (finite > 0)
    expected.rms = static_cast<double>(sqrtl(square_sum / static_cast<long double>(finite)));
  result.sums_equal = (sums[0] - sums[1]) << (64 - size * 8) == 0;
  if (reference_max > 0) result.scaled_max = result.absolute_max / reference_max;
  return expected;
}

}  // namespace ulpscope::test
