#pragma once

#include <cstdint>

#include "device/pair_sums.hpp"

/// The ULP difference of two values, divided into phases that each thread of a block runs between
/// two barriers. Kernels and the CPU twin run the same phases; threads of a phase may run in any
/// order, and so may blocks.
///
/// Blocks take tiles of a constant size in turn. Integers are added as they come; sums of squares
/// are kept per tile and added in the order of the tiles by the block that ends last, so that they
/// depend neither on the number of blocks nor on their order.
namespace ulpscope::device {

inline constexpr unsigned kWarps = kCompareThreads / 32;
inline constexpr unsigned kCombiners = 16;  // threads that sum for as many each

struct ComparisonShared {
  bool last = false;  // this block ends last
  std::uint64_t counts[kCounts];
  std::uint64_t maxima[kMaxima];
  std::uint32_t widths[kWarps][kWidths];
  SquareSum squares[kCompareThreads];
  Worst worst[kCompareThreads];
};

class ComparisonPhases {
 public:
  ULPSCOPE_HOST_DEVICE ComparisonPhases(const Comparison& comparison, ComparisonShared& shared,
                                        std::uint32_t blocks, std::uint32_t block, unsigned thread,
                                        PairSums& sums)
      : comparison_(comparison),
        shared_(shared),
        blocks_(blocks),
        block_(block),
        thread_(thread),
        sums_(sums) {}

  /// A barrier follows, here and after all other phases.
  ULPSCOPE_HOST_DEVICE void begin() {
    if (thread_ < kCounts) shared_.counts[thread_] = 0;
    if (thread_ < kMaxima) shared_.maxima[thread_] = 0;
    for (unsigned i = thread_; i < kWarps * kWidths; i += kCompareThreads)
      shared_.widths[i / kWidths][i % kWidths] = 0;
  }

  /// For each tile of this block: `compare`, `combine_squares`, `keep_squares`.
  ULPSCOPE_HOST_DEVICE void compare(std::uint64_t tile) {
    sums_.squares = SquareSum{};
    with_numbers(comparison_.dtype, [&](auto numbers) {
      using Numbers = decltype(numbers);
      constexpr bool kMayBeComplex = std::is_same_v<Numbers, Floats<Float32>> ||
                                     std::is_same_v<Numbers, Floats<Float64>> ||
                                     std::is_same_v<Numbers, Floats<Float16>>;
      if constexpr (kMayBeComplex)
        if (is_complex_dtype()) return this->template compare_tile<Numbers, 2>(tile, numbers);
      this->template compare_tile<Numbers, 1>(tile, numbers);
    });
    shared_.squares[thread_] = sums_.squares;
  }
  ULPSCOPE_HOST_DEVICE void combine_squares() {
    if (thread_ < kCombiners)
      for (unsigned i = 1; i < kCompareThreads / kCombiners; ++i)
        shared_.squares[thread_].add(shared_.squares[thread_ + i * kCombiners]);
  }
  ULPSCOPE_HOST_DEVICE void keep_squares(std::uint64_t tile) {
    if (thread_ != 0) return;
    for (unsigned i = 1; i < kCombiners; ++i) shared_.squares[0].add(shared_.squares[i]);
    comparison_.scratch.squares[tile] = shared_.squares[0];
  }

  /// All tiles are done: puts the threads' sums together.
  ULPSCOPE_HOST_DEVICE void gather_sums() {
    ULPSCOPE_UNROLL
    for (unsigned i = 0; i < kCounts; ++i)
      if (sums_.counts[i] != 0) add_to(shared_.counts + i, sums_.counts[i]);
    ULPSCOPE_UNROLL
    for (unsigned i = 0; i < kMaxima; ++i) raise_to(shared_.maxima + i, sums_.maxima[i]);
    shared_.worst[thread_] = sums_.worst;
  }
  ULPSCOPE_HOST_DEVICE void combine_worst() {
    if (thread_ < kCombiners)
      for (unsigned i = 1; i < kCompareThreads / kCombiners; ++i)
        keep_worse(shared_.worst[thread_], shared_.worst[thread_ + i * kCombiners]);
  }
  /// Hands the block's sums over.
  ULPSCOPE_HOST_DEVICE void hand_over() {
    DifferenceRecord& record = *comparison_.scratch.record;
    if (thread_ == 0) {
      for (unsigned i = 1; i < kCombiners; ++i) keep_worse(shared_.worst[0], shared_.worst[i]);
      comparison_.scratch.worst[block_] = shared_.worst[0];
    }
    if (thread_ < kCounts && shared_.counts[thread_] != 0)
      add_to(&record.counts[0] + thread_, shared_.counts[thread_]);
    if (thread_ < kMaxima) raise_to(&record.maxima[0] + thread_, shared_.maxima[thread_]);
    if (thread_ >= kWidths) return;
    std::uint64_t count = 0;
    for (const auto& widths : shared_.widths) count += widths[thread_];
    if (count != 0) add_to(&record.widths[0] + thread_, count);
  }
  ULPSCOPE_HOST_DEVICE void arrive() {
    if (thread_ != 0) return;
    fence();
    shared_.last = add_atomically(comparison_.scratch.arrivals, 1) + 1 == blocks_;
    fence();
  }

  [[nodiscard]] ULPSCOPE_HOST_DEVICE bool ends_last() const { return shared_.last; }

  /// Only in the block that ends last: `add_blocks`, `combine_squares`, `combine_worst`, `finish`.
  ULPSCOPE_HOST_DEVICE void add_blocks() {
    SquareSum squares;
    for (std::uint64_t tile = thread_; tile < comparison_.tiles; tile += kCompareThreads)
      squares.add(comparison_.scratch.squares[tile]);
    shared_.squares[thread_] = squares;
    Worst worst;
    for (std::uint32_t block = thread_; block < blocks_; block += kCompareThreads)
      keep_worse(worst, comparison_.scratch.worst[block]);
    shared_.worst[thread_] = worst;
  }
  /// Writes the result, and leaves scratch memory as it was found.
  ULPSCOPE_HOST_DEVICE void finish() {
    DifferenceRecord& record = *comparison_.scratch.record;
    DifferenceRecord& result = *comparison_.result;
    if (thread_ < kCounts) move(&record.counts[0] + thread_, &result.counts[0] + thread_);
    if (thread_ < kMaxima) move(&record.maxima[0] + thread_, &result.maxima[0] + thread_);
    if (thread_ < kWidths) move(&record.widths[0] + thread_, &result.widths[0] + thread_);
    if (thread_ != 0) return;
    for (unsigned i = 1; i < kCombiners; ++i) {
      shared_.squares[0].add(shared_.squares[i]);
      keep_worse(shared_.worst[0], shared_.worst[i]);
    }
    result.squares = shared_.squares[0];
    result.worst = shared_.worst[0];
    const unsigned size = element_bytes();
    const std::uint64_t position = result.worst.packed * size;
    const bool found = result.worst.severity != core::Severity::none;
    result.worst_reference = found ? piece_of(0, position, size) : Piece{};
    result.worst_candidate = found ? piece_of(1, position, size) : Piece{};
    *comparison_.scratch.arrivals = 0;
  }

 private:
  ULPSCOPE_HOST_DEVICE bool is_complex_dtype() const {
    return comparison_.dtype == Dtype::complex32 || comparison_.dtype == Dtype::complex64 ||
           comparison_.dtype == Dtype::complex128;
  }

  ULPSCOPE_HOST_DEVICE unsigned element_bytes() const {
    unsigned size = 0;
    with_numbers(comparison_.dtype, [&](auto numbers) { size = numbers.size(); });
    return is_complex_dtype() ? 2 * size : size;
  }

  ULPSCOPE_HOST_DEVICE Piece piece_of(unsigned side, std::uint64_t position, unsigned size) const {
    return gather(comparison_.items[side], comparison_.loops[side].data(), position, size);
  }

  template <class Numbers, unsigned kParts>
  ULPSCOPE_HOST_DEVICE void compare_tile(std::uint64_t tile, const Numbers& numbers) {
    PairAdder<Numbers, kParts> adder(numbers, comparison_.order, sums_,
                                     shared_.widths[thread_ / 32]);
    const std::uint64_t element = std::uint64_t{numbers.size()} * kParts;
    constexpr unsigned kLoads = 4;  // of each value, in flight at once
    constexpr std::uint64_t kBatchBytes = kLoads * kCompareThreads * sizeof(Piece);
    const bool plain = comparison_.items[0].plain && comparison_.items[1].plain;
    std::uint64_t position = (tile * kTilePieces + thread_) * sizeof(Piece);
    ULPSCOPE_KEEP_LOOP
    for (unsigned done = 0; done < kTilePieces / kCompareThreads; done += kLoads) {
      Piece reference[kLoads];
      Piece candidate[kLoads];
      const bool whole = plain && position + kBatchBytes <= comparison_.bytes;
      if (whole) {
        load<kLoads>(0, position, reference);
        load<kLoads>(1, position, candidate);
      }
      ULPSCOPE_KEEP_LOOP
      for (unsigned i = 0; i < kLoads && position < comparison_.bytes; ++i) {
        const std::uint64_t rest = comparison_.bytes - position;
        const auto size = static_cast<unsigned>(rest < sizeof(Piece) ? rest : sizeof(Piece));
        if (!whole) {
          reference[0] = piece_of(0, position, size);
          candidate[0] = piece_of(1, position, size);
        }
        adder.add_pieces(reference[0], candidate[0], size, position / element);
        // Registers have no index: the next pieces move up.
        ULPSCOPE_UNROLL
        for (unsigned next = 1; next < kLoads; ++next) {
          reference[next - 1] = reference[next];
          candidate[next - 1] = candidate[next];
        }
        position += kCompareThreads * sizeof(Piece);
      }
    }
  }

  template <unsigned kLoads>
  ULPSCOPE_HOST_DEVICE void load(unsigned side, std::uint64_t position,
                                 Piece (&pieces)[kLoads]) const {
    const auto* from = reinterpret_cast<const Piece*>(comparison_.items[side].data + position);
    ULPSCOPE_UNROLL
    for (unsigned i = 0; i < kLoads; ++i) pieces[i] = load_piece(from + i * kCompareThreads);
  }

  ULPSCOPE_HOST_DEVICE static void add_to(std::uint64_t* sum, std::uint64_t addend) {
#if defined(__CUDA_ARCH__)
    atomicAdd(reinterpret_cast<unsigned long long*>(sum), addend);
#else
    *sum += addend;
#endif
  }
  ULPSCOPE_HOST_DEVICE static void raise_to(std::uint64_t* maximum, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
    if (value != 0) atomicMax(reinterpret_cast<unsigned long long*>(maximum), value);
#else
    if (value > *maximum) *maximum = value;
#endif
  }
  /// Takes over what other blocks have added up, and leaves 0 there.
  ULPSCOPE_HOST_DEVICE static void move(std::uint64_t* from, std::uint64_t* to) {
#if defined(__CUDA_ARCH__)
    *to = atomicExch(reinterpret_cast<unsigned long long*>(from), 0ULL);
#else
    *to = *from;
    *from = 0;
#endif
  }

  const Comparison& comparison_;
  ComparisonShared& shared_;
  std::uint32_t blocks_;
  std::uint32_t block_;
  unsigned thread_;
  PairSums& sums_;
};

}  // namespace ulpscope::device
