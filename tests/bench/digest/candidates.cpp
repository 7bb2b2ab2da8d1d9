#include "candidates.hpp"

#include <array>
#include <cstdint>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ulpscope::bench {
namespace {

Digest to_digest(XXH128_hash_t hash) { return {hash.high64, hash.low64}; }

std::uint64_t word_at(const std::byte* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

/// Not a digest: what merely reading the bytes costs.
Digest read_ceiling(const std::byte* bytes, std::size_t size) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + 8 <= size; i += 8) sum ^= word_at(bytes + i);
  return {sum, size};
}

Digest xxh3_flat(const std::byte* bytes, std::size_t size) {
  return to_digest(XXH3_128bits(bytes, size));
}

/// Digests of leaves, and one XXH3 over all of them.
template <std::size_t Leaf>
Digest leaves_and_root(const std::byte* bytes, std::size_t size) {
  if (size <= Leaf) return to_digest(XXH3_128bits(bytes, size));
  XXH3_state_t root;
  XXH3_128bits_reset(&root);
  while (size > 0) {
    const std::size_t length = size < Leaf ? size : Leaf;
    const XXH128_hash_t leaf = XXH3_128bits(bytes, length);
    XXH3_128bits_update(&root, &leaf, sizeof(leaf));
    bytes += length;
    size -= length;
  }
  return to_digest(XXH3_128bits_digest(&root));
}

/// Digests of leaves, hashed again in leaves until one is left.
template <std::size_t Leaf>
XXH128_hash_t tree(const std::byte* bytes, std::size_t size) {
  if (size <= Leaf) return XXH3_128bits(bytes, size);
  constexpr std::size_t kLevels = 10;
  std::array<XXH3_state_t, kLevels> level;
  std::array<std::size_t, kLevels> filled{};
  std::size_t height = 0;
  const auto push = [&](auto&& self, std::size_t at, XXH128_hash_t hash) -> void {
    if (at == height) {
      XXH3_128bits_reset(&level[height++]);
    } else if (filled[at] == Leaf) {
      self(self, at + 1, XXH3_128bits_digest(&level[at]));
      XXH3_128bits_reset(&level[at]);
      filled[at] = 0;
    }
    XXH3_128bits_update(&level[at], &hash, sizeof(hash));
    filled[at] += sizeof(hash);
  };
  while (size > 0) {
    const std::size_t length = size < Leaf ? size : Leaf;
    push(push, 0, XXH3_128bits(bytes, length));
    bytes += length;
    size -= length;
  }
  for (std::size_t at = 0; at + 1 < height; ++at)
    push(push, at + 1, XXH3_128bits_digest(&level[at]));
  return XXH3_128bits_digest(&level[height - 1]);
}

template <std::size_t Leaf>
Digest leaves_and_tree(const std::byte* bytes, std::size_t size) {
  const XXH128_hash_t top = tree<Leaf>(bytes, size);
  if (size <= Leaf) return to_digest(top);
  return to_digest(XXH3_128bits_withSeed(&top, sizeof(top), size));
}

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint32_t fmix(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x85ebca6bU;
  x = (x ^ (x >> 13)) * 0xc2b2ae35U;
  return x ^ (x >> 16);
}

/// The last bytes of a value as one word, filled up with zeros.
std::uint64_t tail_word(const std::byte* bytes, std::size_t size) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < size; ++i) word |= std::uint64_t(bytes[i]) << (8 * i);
  return word;
}

/// Sum over words of (low half + key) * (high half + key), keys made from the word's index: any
/// order of the words gives the same sum.
Digest keyed_products(const std::byte* bytes, std::size_t size) {
  constexpr std::uint64_t kStep[2] = {0x9e3779b97f4a7c15ULL, 0xd1b54a32d192ed03ULL};
  std::uint64_t sum[2] = {0, 0};
  const std::size_t words = size / 8;
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint64_t word = word_at(bytes + 8 * i);
    for (int lane = 0; lane < 2; ++lane) {
      const std::uint64_t key = kStep[lane] * (i + 1);
      const std::uint64_t mixed = word + (key ^ (key >> 29));
      sum[lane] += (mixed & 0xffffffffU) * (mixed >> 32) + mixed;
    }
  }
  const std::uint64_t last = tail_word(bytes + 8 * words, size % 8);
  return {mix(sum[0] + mix(last + size)), mix(sum[1] + mix(last ^ (size << 1)))};
}

/// Sum over 32-bit words of a mixed (word + key of the index), two sums of 32-bit mixes.
Digest keyed_fmix(const std::byte* bytes, std::size_t size) {
  std::uint64_t sum[2] = {0, 0};
  const std::size_t words = size / 4;
  for (std::size_t i = 0; i < words; ++i) {
    std::uint32_t word;
    std::memcpy(&word, bytes + 4 * i, sizeof(word));
    const auto index = static_cast<std::uint32_t>(i);
    sum[0] += fmix(word + index * 0x9e3779b1U);
    sum[1] += fmix(word ^ (index * 0x85ebca77U + 0x165667b1U));
  }
  const std::uint64_t last = tail_word(bytes + 4 * words, size % 4);
  return {mix(sum[0] + mix(last + size)), mix(sum[1] + mix(last ^ (size << 1)))};
}

constexpr Candidate kCandidates[] = {
    {"read ceiling", &read_ceiling, 8},
    {"XXH3-128 flat", &xxh3_flat, 0},
    {"leaves 1 KiB, flat root", &leaves_and_root<1024>, 1024},
    {"leaves 2 KiB, flat root", &leaves_and_root<2048>, 2048},
    {"leaves 4 KiB, flat root", &leaves_and_root<4096>, 4096},
    {"leaves 8 KiB, flat root", &leaves_and_root<8192>, 8192},
    {"leaves 16 KiB, flat root", &leaves_and_root<16384>, 16384},
    {"leaves 1 KiB, tree", &leaves_and_tree<1024>, 1024},
    {"leaves 2 KiB, tree", &leaves_and_tree<2048>, 2048},
    {"leaves 4 KiB, tree", &leaves_and_tree<4096>, 4096},
    {"leaves 8 KiB, tree", &leaves_and_tree<8192>, 8192},
    {"leaves 16 KiB, tree", &leaves_and_tree<16384>, 16384},
    {"keyed products, any order", &keyed_products, 8},
    {"keyed fmix32, any order", &keyed_fmix, 4},
};

}  // namespace

std::span<const Candidate> ULPSCOPE_BENCH_CANDIDATES() { return kCandidates; }

}  // namespace ulpscope::bench
