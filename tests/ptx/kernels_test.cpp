#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <random>

#include "device/twin.hpp"
#include "tests/ptx/cuda_runtime.hpp"
#include "tests/unit/device/random_layout.hpp"

/// Kernels in grids that no value which can be executed here would get: the PTX that nvcc has made,
/// executed on the CPU.

using namespace ulpscope;
using namespace ulpscope::device;
using namespace ulpscope::test;

namespace {

struct alignas(16) Unit {
  std::byte bytes[16] = {};
};

DifferenceRecord compare(const Value& reference, const Value& candidate, std::uint32_t blocks) {
  Comparison comparison;
  REQUIRE(plan(reference, candidate, comparison));
  std::vector<Unit> scratch(ComparisonScratch::bytes_for(comparison.bytes) / sizeof(Unit) + 1);
  const auto scratch_bytes = std::as_writable_bytes(std::span(scratch));
  DifferenceRecord record{};
  comparison.scratch = ComparisonScratch::in(scratch_bytes);
  comparison.result = &record;
  ptx::Memory& memory = ptx::machine().memory();
  const ptx::Reachable reaches_scratch(memory, scratch_bytes);
  const ptx::Reachable reaches_record(memory, std::as_bytes(std::span(&record, 1)), false);
  ptx::machine().run(ptx::find_kernel("compare_values"), blocks, kCompareThreads,
                     std::as_bytes(std::span(&comparison, 1)));
  CHECK(*comparison.scratch.arrivals == 0);
  for (const std::uint64_t count : comparison.scratch.record->counts) CHECK(count == 0);
  for (const std::uint64_t count : comparison.scratch.record->widths) CHECK(count == 0);
  return record;
}

}  // namespace

TEST_CASE("a difference does not depend on how many blocks share its tiles") {
  std::mt19937 random(3);
  constexpr std::size_t kHalf = std::size_t{5} * kTilePieces * sizeof(Piece) + 1008;
  Bytes bytes = random_bytes(random, kHalf);
  bytes.insert(bytes.end(), bytes.begin(), bytes.end());
  for (int i = 0; i < 3000; ++i) bytes[kHalf + random() % kHalf] ^= std::byte{1};
  const ptx::Reachable reaches_values(ptx::machine().memory(), bytes);
  const std::vector<std::int64_t> sizes{kHalf / 4};
  const std::vector<std::int64_t> strides{1};
  const Value reference{{bytes.data(), 4, sizes, strides}, Dtype::float32, core::Order::memory};
  const Value candidate{
      {bytes.data() + kHalf, 4, sizes, strides}, Dtype::float32, core::Order::memory};
  for (const std::uint32_t blocks : {1U, 2U, 4U, 6U}) {
    const DifferenceRecord expected = twin::difference(reference, candidate, blocks);
    for (int order = 0; order < 10; ++order) {
      const DifferenceRecord found = compare(reference, candidate, blocks);
      CHECK(found.counts == expected.counts);
      CHECK(found.maxima == expected.maxima);
      CHECK(found.widths == expected.widths);
      CHECK(std::memcmp(&found.squares, &expected.squares, sizeof found.squares) == 0);
      CHECK(found.worst.packed == expected.worst.packed);
    }
  }
}
