#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/difference_kernel.hpp"
#include "core/difference_pass.hpp"
#include "core/width_counts.hpp"
#include "ulpscope/ulp.hpp"

/// The kernel template, for the files that are compiled once per instruction set. Everything is in
/// an unnamed namespace: a copy that two levels shared could be one that only newer processors run.
///
/// Loops work on blocks of a constant size, one simple operation at a time, without early exits, so
/// that the compiler turns each into vector code at every level.
namespace ulpscope::core {
namespace {

constexpr std::size_t kCountColumns = 64;
static_assert(kBlock / kCountColumns <= 255, "columns of byte counters must not overflow");

/// Integers as a lattice: the distance is |a-b|. bool and types without a rule are their bytes.
template <class Integer>
struct IntegerFormat {
  using Bits = std::make_unsigned_t<Integer>;
  static constexpr bool kIsFloat = false;

  static Bits magnitude(Bits bits) {
    if constexpr (std::is_signed_v<Integer>)
      return static_cast<Integer>(bits) < 0 ? static_cast<Bits>(Bits{0} - bits) : bits;
    else
      return bits;
  }
  static Bits distance(Bits a, Bits b) {
    const auto first = static_cast<Integer>(a);
    const auto second = static_cast<Integer>(b);
    const Integer upper = larger(first, second);
    const Integer lower = smaller(first, second);
    return static_cast<Bits>(static_cast<Bits>(upper) - static_cast<Bits>(lower));
  }
};

template <class Format>
struct FloatingFormat : Format {
  using Bits = typename Format::Bits;
  static constexpr bool kIsFloat = true;

  static Bits distance(Bits a, Bits b) { return Format::ulp_distance(a, b); }
};

template <class Format, std::size_t kParts>
class BlockKernel {
  using Bits = typename Format::Bits;
  using Word = std::conditional_t<sizeof(Bits) == 8, std::uint64_t, std::uint32_t>;
  static constexpr std::size_t kNumbers = kBlock * kParts;
  static constexpr std::size_t kBlockBytes = kNumbers * sizeof(Bits);
  static constexpr bool kInOnePass = kParts == 1 && Format::kIsFloat && sizeof(Bits) >= 2;

 public:
  BlockKernel(const IndexMap& map, DifferenceTotals& totals)
      : map_(map), row_major_(map.row_major()), totals_(totals) {}

  void run(const std::byte* reference, const std::byte* candidate, std::uint64_t first,
           std::uint64_t elements) {
    const std::uint64_t end = first + elements;
    std::uint64_t done = first;
    for (; end - done >= kBlock; done += kBlock) {
      block({reference, candidate}, done);
      reference += kBlockBytes;
      candidate += kBlockBytes;
    }
    if (done < end) last_block(reference, candidate, done, end - done);
    widths_.add_to(totals_);
    double largest = 0;
    if constexpr (Format::kIsFloat)
      largest = Format::finite_value(reference_largest_);
    else
      largest = static_cast<double>(reference_largest_);
    totals_.reference_max = larger(totals_.reference_max, largest);
  }

 private:
  struct Pair {
    const std::byte* reference;
    const std::byte* candidate;
  };

  static Bits load(const std::byte* bytes, std::size_t number) {
    Bits bits;
    std::memcpy(&bits, bytes + number * sizeof(Bits), sizeof(Bits));
    return bits;
  }

  /// Fills up the last elements with zeros that are equal on both sides.
  void last_block(const std::byte* reference, const std::byte* candidate, std::uint64_t first,
                  std::uint64_t elements) {
    const std::size_t bytes = elements * kParts * sizeof(Bits);
    alignas(64) std::byte copies[2][kBlockBytes];
    std::memcpy(copies[0], reference, bytes);
    std::memcpy(copies[1], candidate, bytes);
    std::memset(copies[0] + bytes, 0, kBlockBytes - bytes);
    std::memset(copies[1] + bytes, 0, kBlockBytes - bytes);
    block({copies[0], copies[1]}, first);
    totals_.histogram[0] -= kBlock - elements;
    totals_.finite -= kBlock - elements;
  }

  /// What one side of a block holds, by magnitude. Zeros wrap around to the largest number in
  /// `smallest_less_one`, so that it finds subnormals.
  struct Extent {
    Bits largest = 0;
    Bits smallest_less_one = static_cast<Bits>(~Bits{0});

    void add(Bits magnitude) {
      largest = larger(largest, magnitude);
      smallest_less_one = smaller(smallest_less_one, static_cast<Bits>(magnitude - 1));
    }
    bool has_subnormal() const {
      if constexpr (Format::kIsFloat)
        return smallest_less_one < static_cast<Bits>(Format::kSmallestNormal - 1);
      return false;
    }
    bool has_special() const {
      if constexpr (Format::kIsFloat) return largest > Format::kLargestFinite;
      return false;
    }
  };

  void block(Pair pair, std::uint64_t first) {
    if constexpr (kInOnePass) {
      if (expected_ == Apart::near && in_one_pass<Apart::near>(pair, first)) return;
      if (expected_ == Apart::far && in_one_pass<Apart::far>(pair, first)) return;
    }
    Extent reference;
    Bits unequal = 0;
    for (std::size_t i = 0; i < kNumbers; ++i) {
      const Bits bits = load(pair.reference, i);
      unequal = static_cast<Bits>(unequal | (bits ^ load(pair.candidate, i)));
      reference.add(Format::magnitude(bits));
    }
    const bool lonely = !last_differed_;
    last_differed_ = unequal != 0;
    if (unequal == 0) return equal_block(pair, reference);
    if constexpr (kInOnePass) {
      const bool done =
          in_one_pass<Apart::near>(pair, first) || in_one_pass<Apart::far>(pair, first);
      if (lonely) expected_ = Apart::nowhere;
      if (done) return;
    }

    add_sums(pair);
    Distances distances;
    const Extent candidate = measure(pair, distances);
    if (reference.has_subnormal()) totals_.subnormal[0] += count_subnormal(pair.reference);
    if (candidate.has_subnormal()) totals_.subnormal[1] += count_subnormal(pair.candidate);
    if (reference.has_special() || candidate.has_special()) return special_block(pair, first);
    reference_largest_ = larger(reference_largest_, reference.largest);
    totals_.finite += kBlock;
    const std::uint64_t size_max = add(pair, distances, false);
    if (worth_a_look(Severity::finite, size_max)) find_worst(pair, first);
  }

  void add_sums(Pair pair) {
    Bits sum = 0;
    for (std::size_t i = 0; i < kNumbers; ++i)
      sum = static_cast<Bits>(sum + load(pair.reference, i) - load(pair.candidate, i));
    totals_.bits_sum += sum;
  }

  /// False, and nothing done, where the block is not as the pass expects it.
  template <Apart kApart>
  bool in_one_pass(Pair pair, std::uint64_t first) {
    Distances distances;
    const PassResult<Bits> found =
        Pass<Format, kApart>::over(pair.reference, pair.candidate, distances.of_element);
    const bool near = (found.unequal & Format::kSign) == 0 && found.distance_max <= kMostNear;
    expected_ = near ? Apart::near : Apart::far;
    if (found.unequal == 0 || found.may_have_specials) expected_ = Apart::nowhere;
    if (expected_ == Apart::nowhere || (kApart == Apart::near && !near)) return false;

    if (found.may_have_subnormals) {
      totals_.subnormal[0] += count_subnormal(pair.reference);
      totals_.subnormal[1] += count_subnormal(pair.candidate);
    }
    reference_largest_ = larger(reference_largest_, found.reference_max);
    totals_.finite += kBlock;
    widths_.add(distances.of_element, found.distance_max);
    totals_.bits_sum += found.bits_sum;
    totals_.distance_max = larger(totals_.distance_max, std::uint64_t{found.distance_max});
    totals_.distance_sum +=
        found.distance_sum + (WideCount{found.distance_sum_high} << (sizeof(Bits) * 4));
    if (found.flipped_zeros) add_flipped_zeros(pair, distances);
    for (std::size_t column = 0; column < kColumns; ++column)
      totals_.square_sum[column] += found.squares[column];
    totals_.absolute_max = larger(totals_.absolute_max, found.absolute_max);
    if (worth_a_look(Severity::finite, std::bit_cast<std::uint64_t>(found.absolute_max)))
      find_worst(pair, first);
    return true;
  }

  void equal_block(Pair pair, const Extent& extent) {
    if (extent.has_subnormal()) {
      const std::uint64_t count = count_subnormal(pair.reference);
      totals_.subnormal[0] += count;
      totals_.subnormal[1] += count;
    }
    std::uint64_t nan = 0;
    std::uint64_t not_finite = 0;
    if (extent.has_special()) {
      const SpecialCounts counts = count_special(pair);
      nan = counts.nan_pairs;
      not_finite = counts.not_finite_pairs;
      add_reference_largest(pair.reference);
    } else {
      reference_largest_ = larger(reference_largest_, extent.largest);
    }
    totals_.histogram[0] += kBlock - nan;
    totals_.finite += kBlock - not_finite;
  }

  enum Class : std::uint8_t { kNumber = 0, kNan = 1, kInfinite = 2 };

  /// The classes of an element's parts, or-ed together.
  static unsigned class_of(const std::byte* bytes, std::size_t element) {
    unsigned found = kNumber;
    if constexpr (Format::kIsFloat)
      for (std::size_t part = 0; part < kParts; ++part) {
        const Bits bits = load(bytes, element * kParts + part);
        found |= Format::is_nan(bits) ? kNan : kNumber;
        found |= Format::is_infinite(bits) ? kInfinite : kNumber;
      }
    return found;
  }

  static bool has_subnormal_part(const std::byte* bytes, std::size_t element) {
    bool found = false;
    if constexpr (Format::kIsFloat)
      for (std::size_t part = 0; part < kParts; ++part)
        found |= Format::is_subnormal(load(bytes, element * kParts + part));
    return found;
  }

  static std::uint32_t count_subnormal(const std::byte* bytes) {
    return count([bytes](std::size_t i) { return has_subnormal_part(bytes, i); });
  }

  void add_reference_largest(const std::byte* reference) {
    if constexpr (Format::kIsFloat) {
      Bits largest = reference_largest_;
      for (std::size_t i = 0; i < kNumbers; ++i) {
        const Bits magnitude = Format::magnitude(load(reference, i));
        largest = larger(largest, magnitude > Format::kLargestFinite ? Bits{0} : magnitude);
      }
      reference_largest_ = largest;
    }
  }

  struct SpecialCounts {
    std::uint32_t nan_pairs = 0;         // elements with a NaN in either value
    std::uint32_t not_finite_pairs = 0;  // elements with a NaN or an infinity in either value
    bool infinities = false;
  };

  SpecialCounts count_special(Pair pair) {
    SpecialCounts counts;
    std::uint32_t nan[2] = {0, 0};
    std::uint32_t infinite[2] = {0, 0};
    for (std::size_t i = 0; i < kBlock; ++i) {
      const unsigned left = class_of(pair.reference, i);
      const unsigned right = class_of(pair.candidate, i);
      nan[0] += left & kNan;
      nan[1] += right & kNan;
      infinite[0] += (left & kInfinite) / kInfinite;
      infinite[1] += (right & kInfinite) / kInfinite;
      counts.nan_pairs += (left | right) & kNan;
      counts.not_finite_pairs += (left | right) != 0 ? 1 : 0;
    }
    counts.infinities = infinite[0] + infinite[1] > 0;
    for (std::size_t side = 0; side < 2; ++side) {
      totals_.nan[side] += nan[side];
      totals_.infinite[side] += infinite[side];
    }
    return counts;
  }

  /// A block with NaNs or infinities: what has no distance, and later what has no finite
  /// difference, is replaced by equal zeros and taken off the counts.
  void special_block(Pair pair, std::uint64_t first) {
    if constexpr (Format::kIsFloat) {
      const SpecialCounts counts = count_special(pair);
      add_reference_largest(pair.reference);
      totals_.finite += kBlock - counts.not_finite_pairs;
      totals_.histogram[0] -= counts.nan_pairs;

      alignas(64) Bits numbers[2][kNumbers];
      std::uint32_t nan_differing = 0;
      std::uint32_t infinite_differing = 0;
      for (std::size_t i = 0; i < kBlock; ++i) {
        const unsigned classes = class_of(pair.reference, i) | class_of(pair.candidate, i);
        const bool no_distance = (classes & kNan) != 0;
        bool differs = false;
        for (std::size_t part = 0; part < kParts; ++part) {
          const std::size_t at = i * kParts + part;
          const Bits left = load(pair.reference, at);
          const Bits right = load(pair.candidate, at);
          differs |= left != right;
          numbers[0][at] = no_distance ? Bits{0} : left;
          numbers[1][at] = no_distance ? Bits{0} : right;
        }
        nan_differing += no_distance && differs ? 1 : 0;
        infinite_differing += classes == kInfinite && differs ? 1 : 0;
      }
      totals_.differing += nan_differing;
      const auto* left = reinterpret_cast<const std::byte*>(numbers[0]);
      const auto* right = reinterpret_cast<const std::byte*>(numbers[1]);
      Distances distances;
      measure({left, right}, distances);
      const std::uint64_t size_max = add({left, right}, distances, counts.infinities);
      const Severity severity = nan_differing > 0        ? Severity::nan_appeared
                                : infinite_differing > 0 ? Severity::infinite
                                                         : Severity::finite;
      if (worth_a_look(severity, size_max)) find_worst(pair, first);
    } else {
      static_cast<void>(pair);
      static_cast<void>(first);
    }
  }

  struct Distances {
    alignas(64) Bits of_element[kBlock];
    Bits largest = 0;
    Word sum = 0;            // wraps around if `largest` leaves no space
    Bits flipped_zeros = 0;  // not zero if bits differ somewhere without a distance

    bool sum_is_exact() const { return largest <= static_cast<Word>(~Word{0}) / kBlock; }
  };

  /// Takes the distances of a block without NaNs, and the extent of its candidate side.
  static Extent measure(Pair pair, Distances& distances) {
    Extent candidate;
    Bits largest = 0;
    Word sum = 0;
    Bits flipped_zeros = 0;
    const auto distance_of = [&](std::size_t number) {
      const Bits left = load(pair.reference, number);
      const Bits right = load(pair.candidate, number);
      const Bits distance = Format::distance(left, right);
      candidate.add(Format::magnitude(right));
      flipped_zeros = static_cast<Bits>(
          flipped_zeros | (distance == 0 ? static_cast<Bits>(left ^ right) : Bits{0}));
      return distance;
    };
    for (std::size_t i = 0; i < kBlock; ++i) {
      Bits furthest = distance_of(i * kParts);
      if constexpr (kParts == 2) furthest = larger(furthest, distance_of(i * kParts + 1));
      distances.of_element[i] = furthest;
      largest = larger(largest, furthest);
      sum += furthest;
    }
    distances.largest = largest;
    distances.sum = sum;
    distances.flipped_zeros = flipped_zeros;
    return candidate;
  }

  /// Adds a block to the totals. Returns its largest finite |d| as a size (see worst_size).
  std::uint64_t add(Pair pair, const Distances& distances, bool has_infinities) {
    widths_.add(distances.of_element, distances.largest);
    totals_.distance_max = larger(totals_.distance_max, std::uint64_t{distances.largest});
    totals_.distance_sum += distances.sum_is_exact() ? distances.sum : wide_sum(distances);
    if (distances.flipped_zeros != 0) add_flipped_zeros(pair, distances);
    const std::uint64_t size_max = add_differences(pair, distances, has_infinities);
    return size_max;
  }

  void add_flipped_zeros(Pair pair, const Distances& distances) {
    const std::uint64_t without_distance = count_flipped_zeros(pair, distances);
    totals_.differing += without_distance;
    totals_.differing_with_distance += without_distance;
  }

  /// Counts zeros of different sign; returns how many of these elements have no other difference.
  std::uint64_t count_flipped_zeros(Pair pair, const Distances& distances) {
    std::uint64_t without_distance = 0;
    if constexpr (Format::kIsFloat)
      for (std::size_t i = 0; i < kBlock; ++i) {
        bool flipped = false;
        for (std::size_t part = 0; part < kParts; ++part) {
          const Bits left = load(pair.reference, i * kParts + part);
          const Bits right = load(pair.candidate, i * kParts + part);
          flipped |= left != right && static_cast<Bits>(left | right) == Format::kSign;
        }
        totals_.signed_zero += flipped ? 1 : 0;
        without_distance += flipped && distances.of_element[i] == 0 ? 1 : 0;
      }
    return without_distance;
  }

  /// The number of elements that match. Counts in columns of bytes, which is what vectors do best.
  template <class Matches>
  static std::uint32_t count(Matches matches) {
    alignas(64) std::uint8_t columns[kCountColumns] = {};
    for (std::size_t row = 0; row < kBlock / kCountColumns; ++row)
      for (std::size_t column = 0; column < kCountColumns; ++column)
        columns[column] = static_cast<std::uint8_t>(
            columns[column] +
            (matches(row * kCountColumns + column) ? std::uint8_t{1} : std::uint8_t{0}));
    std::uint32_t sum = 0;
    for (std::size_t column = 0; column < kCountColumns; ++column) sum += columns[column];
    return sum;
  }

  static WideCount wide_sum(const Distances& distances) {
    constexpr unsigned kHalf = sizeof(Word) * 4;
    Word low = 0;
    Word high = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      const Word distance = distances.of_element[i];
      low += distance & ((Word{1} << kHalf) - 1);
      high += distance >> kHalf;
    }
    return low + (WideCount{high} << kHalf);
  }

  static double size_of_difference(Bits left, Bits right) {
    return __builtin_fabs(Format::finite_value(left) - Format::finite_value(right));
  }

  std::uint64_t add_differences(Pair pair, const Distances& distances, bool has_infinities) {
    if constexpr (Format::kIsFloat) {
      const auto size_of = [pair](std::size_t i) {
        const double size =
            size_of_difference(load(pair.reference, i * kParts), load(pair.candidate, i * kParts));
        if constexpr (kParts == 1) return size;
        return larger(size, size_of_difference(load(pair.reference, i * kParts + kParts - 1),
                                               load(pair.candidate, i * kParts + kParts - 1)));
      };
      double largest = 0;
      if (has_infinities)
        largest = add_squares([&](std::size_t i) {
          const unsigned classes = class_of(pair.reference, i) | class_of(pair.candidate, i);
          return (classes & kInfinite) != 0 ? 0 : size_of(i);
        });
      else
        largest = add_squares(size_of);
      totals_.absolute_max = larger(totals_.absolute_max, largest);
      return std::bit_cast<std::uint64_t>(largest);
    } else {
      add_squares([&](std::size_t i) { return static_cast<double>(distances.of_element[i]); });
      totals_.absolute_max = larger(totals_.absolute_max, static_cast<double>(distances.largest));
      return distances.largest;
    }
  }

  /// Adds the squares of all sizes, each to its column, and returns the largest size.
  template <class SizeOf>
  double add_squares(SizeOf size_of) {
    alignas(64) double sum[kColumns] = {};
    alignas(64) double largest[kColumns] = {};
    for (std::size_t row = 0; row < kBlock / kColumns; ++row)
      for (std::size_t column = 0; column < kColumns; ++column) {
        const double size = size_of(row * kColumns + column);
        sum[column] += size * size;
        largest[column] = larger(largest[column], size);
      }
    for (std::size_t column = 0; column < kColumns; ++column)
      totals_.square_sum[column] += sum[column];
    for (std::size_t half = kColumns / 2; half > 0; half /= 2)
      for (std::size_t column = 0; column < half; ++column)
        largest[column] = larger(largest[column], largest[column + half]);
    return largest[0];
  }

  /// Whether a block whose worst element is at most that bad can hold a new worst element.
  bool worth_a_look(Severity severity, std::uint64_t size) const {
    if (severity != totals_.worst) return severity > totals_.worst;
    if (severity == Severity::finite && size != totals_.worst_size)
      return size > totals_.worst_size;
    return !row_major_;
  }

  struct Rank {
    Severity severity = Severity::none;
    std::uint64_t size = 0;
    std::uint8_t part = 0;
  };

  static Rank rank_of_part(Bits left, Bits right) {
    if (left == right) return {};
    if constexpr (Format::kIsFloat) {
      if (Format::is_nan(left) || Format::is_nan(right))
        return {Format::is_nan(left) && Format::is_nan(right) ? Severity::nan_payload
                                                              : Severity::nan_appeared};
      if (Format::is_infinite(left) || Format::is_infinite(right)) return {Severity::infinite};
      return {Severity::finite, std::bit_cast<std::uint64_t>(size_of_difference(left, right))};
    } else {
      return {Severity::finite, Format::distance(left, right)};
    }
  }

  static bool is_worse(const Rank& a, const Rank& b) {
    return a.severity != b.severity ? a.severity > b.severity : a.size > b.size;
  }

  static Rank rank_of(Pair pair, std::size_t element) {
    Rank worst;
    for (std::size_t part = 0; part < kParts; ++part) {
      Rank rank = rank_of_part(load(pair.reference, element * kParts + part),
                               load(pair.candidate, element * kParts + part));
      rank.part = static_cast<std::uint8_t>(part);
      if (is_worse(rank, worst)) worst = rank;
    }
    return worst;
  }

  void find_worst(Pair pair, std::uint64_t first) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      const Rank rank = rank_of(pair, i);
      if (rank.severity == Severity::none) continue;
      const Rank best{totals_.worst, totals_.worst_size, 0};
      if (is_worse(best, rank)) continue;
      const std::uint64_t logical = map_.logical(first + i);
      if (!is_worse(rank, best) && logical >= totals_.worst_logical) continue;
      totals_.worst = rank.severity;
      totals_.worst_size = rank.size;
      totals_.worst_part = rank.part;
      totals_.worst_packed = first + i;
      totals_.worst_logical = logical;
    }
  }

  const IndexMap& map_;
  const bool row_major_;
  DifferenceTotals& totals_;
  Bits reference_largest_ = 0;
  WidthCounts widths_;
  Apart expected_ = Apart::nowhere;
  bool last_differed_ = false;
};

template <class Format, std::size_t kParts = 1>
void kernel(const std::byte* reference, const std::byte* candidate, std::uint64_t first,
            std::uint64_t elements, const IndexMap& map, DifferenceTotals& totals) noexcept {
  BlockKernel<Format, kParts>(map, totals).run(reference, candidate, first, elements);
}

}  // namespace
}  // namespace ulpscope::core
