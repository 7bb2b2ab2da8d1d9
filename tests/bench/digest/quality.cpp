#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "candidates.hpp"

namespace ulpscope::bench {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(size);
  for (std::size_t i = 0; i + 8 <= size; i += 8) {
    const std::uint64_t word = random();
    std::memcpy(&bytes[i], &word, sizeof(word));
  }
  return bytes;
}

/// Pairs of values that differ, in ways weak fingerprints do not see.
struct Change {
  const char* name;
  std::function<void(Bytes&, std::mt19937_64&)> apply;
};

constexpr std::size_t kRowBytes = 512;

void swap_ranges(Bytes& bytes, std::size_t a, std::size_t b, std::size_t length) {
  for (std::size_t i = 0; i < length; ++i) std::swap(bytes[a + i], bytes[b + i]);
}

std::vector<Change> changes() {
  return {
      {"rows permuted",
       [](Bytes& bytes, auto& random) {
         const std::size_t rows = bytes.size() / kRowBytes;
         const std::size_t a = random() % rows;
         const std::size_t b = (a + 1 + random() % (rows - 1)) % rows;
         swap_ranges(bytes, a * kRowBytes, b * kRowBytes, kRowBytes);
       }},
      {"leaves swapped",
       [](Bytes& bytes, auto& random) {
         const std::size_t leaves = bytes.size() / 1024;
         const std::size_t a = random() % leaves;
         const std::size_t b = (a + 1 + random() % (leaves - 1)) % leaves;
         swap_ranges(bytes, a * 1024, b * 1024, 1024);
       }},
      {"two elements swapped",
       [](Bytes& bytes, auto& random) {
         const std::size_t elements = bytes.size() / 4;
         const std::size_t a = random() % elements;
         const std::size_t b = (a + 1 + random() % (elements - 1)) % elements;
         swap_ranges(bytes, a * 4, b * 4, 4);
       }},
      {"two signs flipped",
       [](Bytes& bytes, auto& random) {
         const std::size_t elements = bytes.size() / 4;
         const std::size_t a = random() % elements;
         const std::size_t b = (a + 1 + random() % (elements - 1)) % elements;
         bytes[4 * a + 3] ^= std::byte{0x80};
         bytes[4 * b + 3] ^= std::byte{0x80};
       }},
      {"one bit flipped",
       [](Bytes& bytes, auto& random) {
         const std::size_t bit = random() % (bytes.size() * 8);
         bytes[bit / 8] ^= std::byte{static_cast<unsigned char>(1U << (bit % 8))};
       }},
      {"equal pair replaced by another equal pair",
       [](Bytes& bytes, auto& random) {
         const std::size_t elements = bytes.size() / 4;
         const std::size_t a = random() % elements;
         const std::size_t b = (a + 1 + random() % (elements - 1)) % elements;
         const auto value = static_cast<std::uint32_t>(random());
         std::memcpy(&bytes[4 * a], &value, 4);
         std::memcpy(&bytes[4 * b], &value, 4);
       }},
      {"the same step up here and down there",
       [](Bytes& bytes, auto& random) {
         const std::size_t words = bytes.size() / 8;
         const std::size_t a = random() % words;
         const std::size_t b = (a + 1 + random() % (words - 1)) % words;
         std::uint64_t up, down;
         std::memcpy(&up, &bytes[8 * a], 8);
         std::memcpy(&down, &bytes[8 * b], 8);
         ++up;
         --down;
         std::memcpy(&bytes[8 * a], &up, 8);
         std::memcpy(&bytes[8 * b], &down, 8);
       }},
  };
}

/// Random values, and constant ones with a few ones in them: the hard case for products and sums.
std::vector<std::pair<const char*, Bytes>> quality_values() {
  std::vector<std::pair<const char*, Bytes>> values;
  for (const std::size_t size : {std::size_t{4096}, std::size_t{65536}, std::size_t{1} << 20}) {
    values.emplace_back("random", random_bytes(size, size));
    Bytes ramp(size);
    for (std::uint32_t i = 0; i < size / 4; ++i) {
      const float element = static_cast<float>(i);
      std::memcpy(&ramp[4 * std::size_t{i}], &element, 4);
    }
    values.emplace_back("ramp", std::move(ramp));
  }
  return values;
}

}  // namespace

void measure_quality(std::span<const Candidate> candidates, std::size_t trials) {
  std::printf(
      "\nmissed changes (%zu trials each, on random and regular values of 4 KiB, 64 KiB, 1 MiB)\n",
      trials);
  for (const Candidate& candidate : candidates) {
    std::size_t missed = 0, tried = 0;
    std::mt19937_64 random(7);
    for (const auto& [name, value] : quality_values()) {
      const Digest before = candidate.digest(value.data(), value.size());
      const std::size_t here = std::max<std::size_t>(10, trials * 4096 / value.size());
      for (const Change& change : changes())
        for (std::size_t trial = 0; trial < here; ++trial) {
          Bytes changed = value;
          change.apply(changed, random);
          if (changed == value) continue;
          ++tried;
          missed += candidate.digest(changed.data(), changed.size()) == before;
        }
    }
    const Bytes zeros(1 << 17);
    std::vector<Digest> digests;
    for (std::size_t size = 0; size <= zeros.size(); size += size < 4200 ? 1 : 509)
      digests.push_back(candidate.digest(zeros.data(), size));
    std::ranges::sort(digests);
    std::size_t same_zeros = 0;
    for (std::size_t i = 1; i < digests.size(); ++i) same_zeros += digests[i] == digests[i - 1];
    std::printf("  %-28s %zu of %zu; zeros of different length taken for equal: %zu of %zu\n",
                candidate.name, missed, tried, same_zeros, digests.size());
  }
}

}  // namespace ulpscope::bench
