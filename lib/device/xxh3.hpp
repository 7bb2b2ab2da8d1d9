#pragma once

#include <array>
#include <cstdint>

#include "device/portable.hpp"

/// XXH3-128 with its default secret, divided so that many threads share one leaf: the XXH3
/// algorithm as specified in xxHash's doc/xxhash_spec.md. Sums over stripes do not depend on the
/// accumulator, so that only `scramble` must be in order.
namespace ulpscope::device::xxh3 {

inline constexpr std::uint64_t kPrime32_1 = 0x9e3779b1;
inline constexpr std::uint64_t kPrime32_2 = 0x85ebca77;
inline constexpr std::uint64_t kPrime32_3 = 0xc2b2ae3d;
inline constexpr std::uint64_t kPrime64_1 = 0x9e3779b185ebca87;
inline constexpr std::uint64_t kPrime64_2 = 0xc2b2ae3d27d4eb4f;
inline constexpr std::uint64_t kPrime64_3 = 0x165667b19e3779f9;
inline constexpr std::uint64_t kPrime64_4 = 0x85ebca77c2b2ae63;
inline constexpr std::uint64_t kPrime64_5 = 0x27d4eb2f165667c5;

inline constexpr unsigned kStripeBytes = 64;
inline constexpr unsigned kBlockStripes = 16;  // a scramble follows each block but the last
inline constexpr unsigned kShortBytes = 240;   // longer strings have stripes
inline constexpr unsigned kSecretBytes = 192;

/// The default secret as little-endian words.
using Secret = std::array<std::uint64_t, kSecretBytes / 8>;
inline constexpr Secret kSecret = {
    0xbe4ba423396cfeb8, 0x1cad21f72c81017c, 0xdb979083e96dd4de, 0x1f67b3b7a4a44072,
    0x78e5c0cc4ee679cb, 0x2172ffcc7dd05a82, 0x8e2443f7744608b8, 0x4c263a81e69035e0,
    0xcb00c391bb52283c, 0xa32e531b8b65d088, 0x4ef90da297486471, 0xd8acdea946ef1938,
    0x3f349ce33f76faa8, 0x1d4f0bc7c7bbdcf9, 0x3159b4cd4be0518a, 0x647378d9c97e9fc8,
    0xc3ebd33483acc5ea, 0xeb6313faffa081c5, 0x49daf0b751dd0d17, 0x9e68d429265516d3,
    0xfca1477d58be162b, 0xce31d07ad1b8f88f, 0x280416958f3acb45, 0x7e404bbbcafbd7af,
};

/// The 8 bytes at any byte of a string of little-endian words.
ULPSCOPE_HOST_DEVICE inline std::uint64_t read64(const std::uint64_t* words, unsigned at) {
  const unsigned shift = at % 8 * 8;
  const std::uint64_t* word = words + at / 8;
  return shift == 0 ? word[0] : word[0] >> shift | word[1] << (64 - shift);
}

ULPSCOPE_HOST_DEVICE inline std::uint32_t read32(const std::uint64_t* words, unsigned at) {
  const unsigned shift = at % 8 * 8;
  std::uint64_t bits = words[at / 8] >> shift;
  if (shift > 32) bits |= words[at / 8 + 1] << (64 - shift);
  return static_cast<std::uint32_t>(bits);
}

ULPSCOPE_HOST_DEVICE inline std::uint32_t swap32(std::uint32_t x) {
  return x << 24 | (x << 8 & 0xff0000U) | (x >> 8 & 0xff00U) | x >> 24;
}

ULPSCOPE_HOST_DEVICE inline std::uint64_t swap64(std::uint64_t x) {
  return std::uint64_t{swap32(static_cast<std::uint32_t>(x))} << 32 |
         swap32(static_cast<std::uint32_t>(x >> 32));
}

/// Low and high half of a product.
ULPSCOPE_HOST_DEVICE inline Piece multiply(std::uint64_t a, std::uint64_t b) {
  const Wide product = Wide{a} * b;
  return {static_cast<std::uint64_t>(product), static_cast<std::uint64_t>(product >> 64)};
}

ULPSCOPE_HOST_DEVICE inline std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) {
  const Piece product = multiply(a, b);
  return product.low ^ product.high;
}

ULPSCOPE_HOST_DEVICE inline std::uint64_t avalanche(std::uint64_t x) {
  x ^= x >> 37;
  x *= 0x165667919e3779f9;
  return x ^ x >> 32;
}

ULPSCOPE_HOST_DEVICE inline std::uint64_t avalanche_xxh64(std::uint64_t x) {
  x ^= x >> 33;
  x *= kPrime64_2;
  x ^= x >> 29;
  x *= kPrime64_3;
  return x ^ x >> 32;
}

ULPSCOPE_HOST_DEVICE inline Piece empty(const std::uint64_t* secret) {
  return {avalanche_xxh64(secret[8] ^ secret[9]), avalanche_xxh64(secret[10] ^ secret[11])};
}

ULPSCOPE_HOST_DEVICE inline Piece of_1_to_3(const std::uint64_t* words, unsigned size,
                                            const std::uint64_t* secret) {
  const auto byte = [words](unsigned at) {
    return static_cast<std::uint32_t>(words[0] >> (8 * at) & 255);
  };
  const std::uint32_t low = byte(0) << 16 | byte(size / 2) << 24 | byte(size - 1) | size << 8;
  const std::uint32_t swapped = swap32(low);
  const std::uint32_t high = swapped << 13 | swapped >> 19;
  return {avalanche_xxh64(low ^ std::uint64_t{read32(secret, 0) ^ read32(secret, 4)}),
          avalanche_xxh64(high ^ std::uint64_t{read32(secret, 8) ^ read32(secret, 12)})};
}

ULPSCOPE_HOST_DEVICE inline Piece of_4_to_8(const std::uint64_t* words, unsigned size,
                                            const std::uint64_t* secret) {
  const std::uint64_t input = read32(words, 0) + (std::uint64_t{read32(words, size - 4)} << 32);
  Piece hash = multiply(input ^ secret[2] ^ secret[3], kPrime64_1 + (size << 2));
  hash.high += hash.low << 1;
  hash.low ^= hash.high >> 3;
  hash.low ^= hash.low >> 35;
  hash.low *= 0x9fb21c651e98df25;
  hash.low ^= hash.low >> 28;
  hash.high = avalanche(hash.high);
  return hash;
}

/// Also for the 16 bytes of a tree's top, where the seed is the value's size.
ULPSCOPE_HOST_DEVICE inline Piece of_9_to_16(const std::uint64_t* words, unsigned size,
                                             const std::uint64_t* secret, std::uint64_t seed = 0) {
  const std::uint64_t first = words[0];
  std::uint64_t last = read64(words, size - 8);
  Piece mixed = multiply(first ^ last ^ ((secret[4] ^ secret[5]) - seed), kPrime64_1);
  mixed.low += std::uint64_t{size - 1} << 54;
  last ^= (secret[6] ^ secret[7]) + seed;
  mixed.high += last + (last & 0xffffffff) * (kPrime32_2 - 1);
  mixed.low ^= swap64(mixed.high);
  Piece hash = multiply(mixed.low, kPrime64_2);
  hash.high += mixed.high * kPrime64_2;
  return {avalanche(hash.low), avalanche(hash.high)};
}

ULPSCOPE_HOST_DEVICE inline std::uint64_t mix_16(const std::uint64_t* words, unsigned at,
                                                 const std::uint64_t* secret, unsigned key) {
  return folded_product(read64(words, at) ^ read64(secret, key),
                        read64(words, at + 8) ^ read64(secret, key + 8));
}

ULPSCOPE_HOST_DEVICE inline void mix_32(Piece& hash, const std::uint64_t* words, unsigned first,
                                        unsigned second, const std::uint64_t* secret,
                                        unsigned key) {
  hash.low += mix_16(words, first, secret, key);
  hash.low ^= read64(words, second) + read64(words, second + 8);
  hash.high += mix_16(words, second, secret, key + 16);
  hash.high ^= read64(words, first) + read64(words, first + 8);
}

ULPSCOPE_HOST_DEVICE inline Piece finish_short(const Piece& hash, unsigned size) {
  const std::uint64_t high = hash.low * kPrime64_1 + hash.high * kPrime64_4 + size * kPrime64_2;
  return {avalanche(hash.low + hash.high), 0 - avalanche(high)};
}

ULPSCOPE_HOST_DEVICE inline Piece of_17_to_128(const std::uint64_t* words, unsigned size,
                                               const std::uint64_t* secret) {
  Piece hash{size * kPrime64_1, 0};
  for (unsigned pair = (size - 1) / 32 + 1; pair-- > 0;)
    mix_32(hash, words, 16 * pair, size - 16 * (pair + 1), secret, 32 * pair);
  return finish_short(hash, size);
}

ULPSCOPE_HOST_DEVICE inline Piece of_129_to_240(const std::uint64_t* words, unsigned size,
                                                const std::uint64_t* secret) {
  Piece hash{size * kPrime64_1, 0};
  for (unsigned at = 0; at < 128; at += 32) mix_32(hash, words, at, at + 16, secret, at);
  hash = {avalanche(hash.low), avalanche(hash.high)};
  for (unsigned at = 128; at + 32 <= size; at += 32)
    mix_32(hash, words, at, at + 16, secret, at - 128 + 3);
  // Without a seed, which the last pair would take with the other sign.
  mix_32(hash, words, size - 16, size - 32, secret, 136 - 17 - 16);
  return finish_short(hash, size);
}

/// Hash of at most kShortBytes, in whole words of which the last may be partly used.
ULPSCOPE_HOST_DEVICE inline Piece of_short(const std::uint64_t* words, unsigned size,
                                           const std::uint64_t* secret) {
  if (size > 128) return of_129_to_240(words, size, secret);
  if (size > 16) return of_17_to_128(words, size, secret);
  if (size > 8) return of_9_to_16(words, size, secret);
  if (size >= 4) return of_4_to_8(words, size, secret);
  if (size > 0) return of_1_to_3(words, size, secret);
  return empty(secret);
}

/// Eight lanes accumulate stripes; a pair of neighbors takes 16 bytes of each.
inline constexpr unsigned kPairs = 4;

/// What one pair of lanes adds for its part of a stripe.
ULPSCOPE_HOST_DEVICE inline void add_stripe(Piece& sum, const Piece& data, std::uint64_t key_low,
                                            std::uint64_t key_high) {
  const std::uint64_t low = data.low ^ key_low;
  const std::uint64_t high = data.high ^ key_high;
  sum.low += data.high + (low & 0xffffffff) * (low >> 32);
  sum.high += data.low + (high & 0xffffffff) * (high >> 32);
}

/// The keys of the last stripe of a string.
ULPSCOPE_HOST_DEVICE inline Piece last_keys(unsigned pair, const std::uint64_t* secret) {
  const unsigned key = kSecretBytes - kStripeBytes - 7 + 16 * pair;
  return {read64(secret, key), read64(secret, key + 8)};
}

ULPSCOPE_HOST_DEVICE inline Piece initial(unsigned pair) {
  if (pair == 0) return {kPrime32_3, kPrime64_1};
  if (pair == 1) return {kPrime64_2, kPrime64_3};
  if (pair == 2) return {kPrime64_4, kPrime32_2};
  return {kPrime64_5, kPrime32_1};
}

ULPSCOPE_HOST_DEVICE inline std::uint64_t scrambled(std::uint64_t lane, std::uint64_t key) {
  return (lane ^ lane >> 47 ^ key) * kPrime32_1;
}

ULPSCOPE_HOST_DEVICE inline void scramble(Piece& lanes, unsigned pair,
                                          const std::uint64_t* secret) {
  const std::uint64_t* keys = secret + (kSecretBytes - kStripeBytes) / 8 + 2 * pair;
  lanes = {scrambled(lanes.low, keys[0]), scrambled(lanes.high, keys[1])};
}

/// What a pair of lanes adds to the low and the high half of the hash.
ULPSCOPE_HOST_DEVICE inline Piece merged(const Piece& lanes, unsigned pair,
                                         const std::uint64_t* secret) {
  const auto with_key = [&](unsigned key) {
    return folded_product(lanes.low ^ read64(secret, key), lanes.high ^ read64(secret, key + 8));
  };
  return {with_key(11 + 16 * pair), with_key(kSecretBytes - kStripeBytes - 11 + 16 * pair)};
}

/// The hash of `size` bytes from what all pairs have merged, added up.
ULPSCOPE_HOST_DEVICE inline Piece finish_long(const Piece& sum, std::uint64_t size) {
  return {avalanche(sum.low + size * kPrime64_1), avalanche(sum.high + ~(size * kPrime64_2))};
}

}  // namespace ulpscope::device::xxh3
