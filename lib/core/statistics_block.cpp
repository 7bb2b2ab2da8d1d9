#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/extremes.hpp"
#include "core/kernel_level.hpp"
#include "core/statistics_kernel.hpp"
#include "ulpscope/ulp.hpp"

namespace ulpscope::core {
namespace {

constexpr std::size_t kColumns = kStatisticsColumns;
constexpr std::size_t kBlock = kStatisticsBlock;
static_assert(kBlock / kColumns <= 255, "columns of byte counters must not overflow");

template <class FloatFormat>
struct Floats : FloatFormat {
  using Bits = typename FloatFormat::Bits;
  using Number = std::conditional_t<sizeof(Bits) == 8, double, float>;
  static constexpr bool kIsFloat = true;
  static constexpr Number kLowest = -std::numeric_limits<Number>::max();
  static constexpr Number kHighest = std::numeric_limits<Number>::max();

  static Number number(Bits bits) { return static_cast<Number>(FloatFormat::finite_value(bits)); }
  static bool is_zero(Bits bits) { return FloatFormat::magnitude(bits) == 0; }
};

template <class Integer>
struct Integers {
  using Bits = std::make_unsigned_t<Integer>;
  using Number = Integer;
  static constexpr bool kIsFloat = false;
  static constexpr Number kLowest = std::numeric_limits<Number>::min();
  static constexpr Number kHighest = std::numeric_limits<Number>::max();

  static Number number(Bits bits) { return static_cast<Number>(bits); }
  static bool is_zero(Bits bits) { return bits == 0; }
  static bool is_subnormal(Bits /*bits*/) { return false; }
  static bool is_nan(Bits /*bits*/) { return false; }
  static bool is_infinite(Bits /*bits*/) { return false; }
  static double to_double(Bits bits) { return static_cast<double>(number(bits)); }
};

template <class Format>
class BlockStatistics {
  using Bits = typename Format::Bits;
  using Number = typename Format::Number;

 public:
  explicit BlockStatistics(StatisticsTotals& totals) : totals_(totals) {}

  /// Whole rows of numbers, at most a block of them. Each pass does one simple thing to rows of a
  /// constant size, so that the compiler turns it into vector code.
  void rows(const std::byte* bytes, std::size_t count) {
    if (!all_finite(bytes, count)) return numbers(bytes, count * kColumns);
    count_small(bytes, count);
    find_extremes(bytes, count);
    alignas(64) double sum[kColumns] = {};
    alignas(64) double square[kColumns] = {};
    each(bytes, count, [&](std::size_t column, Bits bits) {
      const auto value = static_cast<double>(Format::number(bits));
      sum[column] += value;
      square[column] += value * value;
    });
    add_columns(sum, square);
  }

  /// Any numbers, at most a block of them, one at a time.
  void numbers(const std::byte* bytes, std::size_t count) {
    double sum[kColumns] = {};
    double square[kColumns] = {};
    for (std::size_t i = 0; i < count; ++i) {
      const Bits bits = load(bytes, i);
      if (Format::is_nan(bits)) {
        ++totals_.nan;
        continue;
      }
      const double value = Format::to_double(bits);
      totals_.min = smaller(totals_.min, value);
      totals_.max = larger(totals_.max, value);
      if (Format::is_infinite(bits)) {
        ++totals_.inf;
        continue;
      }
      totals_.zero += Format::is_zero(bits) ? 1 : 0;
      totals_.subnormal += Format::is_subnormal(bits) ? 1 : 0;
      sum[i % kColumns] += value;
      square[i % kColumns] += value * value;
    }
    add_columns(sum, square);
  }

 private:
  static Bits load(const std::byte* bytes, std::size_t at) {
    Bits bits;
    std::memcpy(&bits, bytes + at * sizeof(Bits), sizeof(Bits));
    return bits;
  }

  template <class Visit>
  static void each(const std::byte* bytes, std::size_t rows, Visit visit) {
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t column = 0; column < kColumns; ++column)
        visit(column, load(bytes, row * kColumns + column));
  }

  static bool all_finite(const std::byte* bytes, std::size_t rows) {
    if constexpr (Format::kIsFloat) {
      alignas(64) Bits largest[kColumns] = {};
      each(bytes, rows, [&](std::size_t column, Bits bits) {
        largest[column] = larger(largest[column], Format::magnitude(bits));
      });
      for (const Bits size : largest)
        if (size > Format::kLargestFinite) return false;
    }
    return true;
  }

  void count_small(const std::byte* bytes, std::size_t rows) {
    alignas(64) Bits zero[kColumns] = {};
    each(bytes, rows, [&](std::size_t column, Bits bits) {
      zero[column] = static_cast<Bits>(zero[column] + Bits{Format::is_zero(bits)});
    });
    for (const Bits count : zero) totals_.zero += count;
    if constexpr (Format::kIsFloat) {
      alignas(64) Bits subnormal[kColumns] = {};
      each(bytes, rows, [&](std::size_t column, Bits bits) {
        subnormal[column] = static_cast<Bits>(subnormal[column] + Bits{Format::is_subnormal(bits)});
      });
      for (const Bits count : subnormal) totals_.subnormal += count;
    }
  }

  void find_extremes(const std::byte* bytes, std::size_t rows) {
    alignas(64) Number low[kColumns];
    alignas(64) Number high[kColumns];
    std::fill_n(low, kColumns, Format::kHighest);
    std::fill_n(high, kColumns, Format::kLowest);
    each(bytes, rows, [&](std::size_t column, Bits bits) {
      low[column] = smaller(low[column], Format::number(bits));
      high[column] = larger(high[column], Format::number(bits));
    });
    for (std::size_t column = 0; column < kColumns; ++column) {
      totals_.min = smaller(totals_.min, static_cast<double>(low[column]));
      totals_.max = larger(totals_.max, static_cast<double>(high[column]));
    }
  }

  void add_columns(const double* sum, const double* square) {
    for (std::size_t column = 0; column < kColumns; ++column) {
      totals_.sum[column] += sum[column];
      totals_.square[column] += square[column];
    }
  }

  StatisticsTotals& totals_;
};

template <class Format>
void kernel(const std::byte* bytes, std::size_t numbers, StatisticsTotals& totals) noexcept {
  BlockStatistics<Format> block(totals);
  for (; numbers >= kBlock; numbers -= kBlock, bytes += kBlock * sizeof(typename Format::Bits))
    block.rows(bytes, kBlock / kColumns);
  const std::size_t rest = numbers / kColumns;
  if (rest > 0) block.rows(bytes, rest);
  block.numbers(bytes + rest * kColumns * sizeof(typename Format::Bits), numbers % kColumns);
}

}  // namespace

StatisticsKernel ULPSCOPE_KERNEL(statistics_kernel_)(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::float32:
    case Dtype::complex64:
      return &kernel<Floats<Float32>>;
    case Dtype::float64:
    case Dtype::complex128:
      return &kernel<Floats<Float64>>;
    case Dtype::float16:
    case Dtype::complex32:
      return &kernel<Floats<Float16>>;
    case Dtype::bfloat16:
      return &kernel<Floats<BFloat16>>;
    case Dtype::float8_e5m2:
      return &kernel<Floats<Float8E5M2>>;
    case Dtype::float8_e4m3fn:
      return &kernel<Floats<Float8E4M3Fn>>;
    case Dtype::float8_e5m2fnuz:
      return &kernel<Floats<Float8E5M2Fnuz>>;
    case Dtype::float8_e4m3fnuz:
      return &kernel<Floats<Float8E4M3Fnuz>>;
    case Dtype::int8:
    case Dtype::qint8:
      return &kernel<Integers<std::int8_t>>;
    case Dtype::int16:
      return &kernel<Integers<std::int16_t>>;
    case Dtype::uint16:
      return &kernel<Integers<std::uint16_t>>;
    case Dtype::int32:
    case Dtype::qint32:
      return &kernel<Integers<std::int32_t>>;
    case Dtype::uint32:
      return &kernel<Integers<std::uint32_t>>;
    case Dtype::int64:
      return &kernel<Integers<std::int64_t>>;
    case Dtype::uint64:
      return &kernel<Integers<std::uint64_t>>;
    default:
      return &kernel<Integers<std::uint8_t>>;
  }
}

}  // namespace ulpscope::core
