#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <vector>

#include "ulpscope/digest.hpp"

// The plain C code of xxHash, as independent of the kernels as possible.
#define XXH_VECTOR 0
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace {

constexpr std::size_t kLeaf = 4096;
using Bytes = std::vector<unsigned char>;

/// The definition in lib/core/DIGEST.md, word for word.
XXH128_hash_t tree(const Bytes& bytes) {
  if (bytes.size() <= kLeaf) return XXH3_128bits(bytes.data(), bytes.size());
  Bytes above;
  for (std::size_t first = 0; first < bytes.size(); first += kLeaf) {
    const std::size_t length = std::min(kLeaf, bytes.size() - first);
    const XXH128_hash_t leaf = XXH3_128bits(bytes.data() + first, length);
    for (const XXH64_hash_t half : {leaf.low64, leaf.high64})
      for (int byte = 0; byte < 8; ++byte)
        above.push_back(static_cast<unsigned char>(half >> (8 * byte) & 255));
  }
  return tree(above);
}

ulpscope::Digest defined_digest(const Bytes& bytes) {
  XXH128_hash_t hash = tree(bytes);
  if (bytes.size() > kLeaf) {
    unsigned char top[16];
    std::memcpy(top, &hash.low64, 8);
    std::memcpy(top + 8, &hash.high64, 8);
    hash = XXH3_128bits_withSeed(top, sizeof(top), bytes.size());
  }
  return {hash.high64, hash.low64};
}

}  // namespace

TEST_SUITE("digest") {
  TEST_CASE("the digest is what its definition says") {
    std::mt19937 random(1);
    Bytes all((3 << 20) + 77);
    for (unsigned char& byte : all) byte = static_cast<unsigned char>(random() & 255);
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{17}, std::size_t{200}, std::size_t{1000},
          kLeaf, kLeaf + 1, 2 * kLeaf, 10 * kLeaf + 5, 256 * kLeaf, 256 * kLeaf + 1, 257 * kLeaf,
          512 * kLeaf, 513 * kLeaf, all.size()}) {
      CAPTURE(size);
      const Bytes bytes(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(size));
      CHECK(ulpscope::digest(std::as_bytes(std::span(bytes))) == defined_digest(bytes));
    }
  }

  TEST_CASE("a value of more than 256 nodes of 256 leaves is a tree of four levels") {
    const Bytes bytes((std::size_t{256} << 20) + kLeaf + 3, 0x5a);
    CHECK(ulpscope::digest(std::as_bytes(std::span(bytes))) == defined_digest(bytes));
  }
}
