#include "ulpscope/digest.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "core/digest_kernel.hpp"

namespace {

using ulpscope::Digest;
using Bytes = std::vector<std::byte>;

/// Bytes that can be generated in any language: byte i is (i * 167 + i / 251) modulo 256.
Bytes counted_bytes(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>((i * 167 + i / 251) & 255);
  return bytes;
}

Bytes random_bytes(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 255);
  return bytes;
}

/// Sizes around every boundary of the function: XXH3's own, a leaf, a node of 256 leaves.
std::vector<std::size_t> telling_sizes() {
  std::vector<std::size_t> sizes;
  for (std::size_t size = 0; size <= 600; ++size) sizes.push_back(size);
  for (const std::size_t edge :
       {std::size_t{1024}, std::size_t{4096}, std::size_t{8192}, std::size_t{12288},
        std::size_t{65536}, std::size_t{1} << 20, (std::size_t{1} << 20) + 4096,
        std::size_t{2} << 20, std::size_t{5} << 20})
    for (std::size_t size = edge - 2; size <= edge + 2; ++size) sizes.push_back(size);
  return sizes;
}

}  // namespace

TEST_SUITE("digest") {
  TEST_CASE("golden values: a change of any of these is a change of the format") {
    struct Golden {
      std::size_t size;
      const char* digest;
    };
    for (const Golden& golden : {Golden{0, "99aa06d3014798d86001c324468d497f"},
                                 Golden{1, "a6cd5e9392000f6ac44bdff4074eecdb"},
                                 Golden{3, "82271a7b5276669ef3ea324084d6587c"},
                                 Golden{4, "f8709611b1f6cd87c89763cbddb18240"},
                                 Golden{8, "be8bed0ebb2d546425cf7cc25927ea82"},
                                 Golden{9, "239d32cacb62ab808bac796201949ed1"},
                                 Golden{16, "58bef3e094ad742562e9dbe370805b66"},
                                 Golden{17, "5cdf78197d6c5ed0eadaf7c446a821d3"},
                                 Golden{64, "2a743826c299c972ade41872dad6c752"},
                                 Golden{128, "6364ba4eb5e0d68d49f1baeb9259b91f"},
                                 Golden{129, "b34dcc37d8cb38328f901ead07b18018"},
                                 Golden{240, "7f9dc0c69e5d78ad6ca2539364b765e5"},
                                 Golden{241, "30fafd9e3931dbd19dc4f9091538415e"},
                                 Golden{256, "202b2e0cd5ef5d9030da87b35e1a1290"},
                                 Golden{1024, "b0bef30c969f7da270878d341c1a5330"},
                                 Golden{4095, "1c2d0364faf007b36abb88ee55b109b9"},
                                 Golden{4096, "db755bc7ed6f034df2691f42f188a515"},
                                 Golden{4097, "ae79cc3ed7a3aede6eae829c2a2cd6ce"},
                                 Golden{8192, "e4c1df8c64e59cb4e2333390acb38303"},
                                 Golden{65536, "c47ee5a9cdd48af22dd6c4e43efbc915"},
                                 Golden{1048576, "e8bd4418a2c5e30589e65e568eab7156"},
                                 Golden{1048577, "a3e61f2963722feefe48a37f71535d5c"},
                                 Golden{1052672, "1b681baa93cb5bd69a7f1ac855dc8ff7"},
                                 Golden{3000000, "0fe70afbaa749d91450171b154e9e9ad"}}) {
      CAPTURE(golden.size);
      CHECK(to_string(ulpscope::digest(counted_bytes(golden.size))) == golden.digest);
    }
  }

  TEST_CASE("all instruction sets give the same digest") {
    const Bytes bytes = random_bytes((5 << 20) + 2, 1);
    for (const auto level : ulpscope::core::kCpuLevels) {
      if (!supported(level)) continue;
      const auto& kernel = ulpscope::core::digest_kernel(level);
      for (const std::size_t size : telling_sizes()) {
        CAPTURE(size);
        REQUIRE(kernel.whole(bytes.data(), size) == ulpscope::digest({bytes.data(), size}));
      }
    }
  }

  TEST_CASE("a stream gives the same digest however the bytes are split") {
    std::mt19937 random(2);
    const Bytes bytes = random_bytes((5 << 20) + 2, 3);
    for (const std::size_t size : telling_sizes()) {
      CAPTURE(size);
      const Digest whole = ulpscope::digest({bytes.data(), size});
      for (const std::size_t largest : {std::size_t{7}, std::size_t{300}, std::size_t{4096},
                                        std::size_t{10000}, std::size_t{3} << 20}) {
        if (size / largest > 20000) continue;
        ulpscope::DigestStream stream;
        for (std::size_t done = 0; done < size;) {
          const std::size_t piece = std::min(size - done, 1 + random() % largest);
          stream.update({bytes.data() + done, piece});
          stream.update({});
          done += piece;
        }
        REQUIRE(stream.finish() == whole);
      }
    }
  }

  TEST_CASE("pieces of exactly one leaf give the same digest") {
    const Bytes bytes = random_bytes(3 << 20, 4);
    for (const std::size_t leaves : {1, 2, 255, 256, 257, 512, 513}) {
      CAPTURE(leaves);
      ulpscope::DigestStream stream;
      for (std::size_t leaf = 0; leaf < leaves; ++leaf)
        stream.update({bytes.data() + leaf * 4096, 4096});
      CHECK(stream.finish() == ulpscope::digest({bytes.data(), leaves * 4096}));
    }
  }

  TEST_CASE("zeros that are only counted have the digest of zeros that are there") {
    const Bytes before = random_bytes(70000, 7);
    const Bytes zeros(std::size_t{40} << 20);
    for (const std::size_t first : {std::size_t{0}, std::size_t{1}, std::size_t{4095},
                                    std::size_t{4096}, std::size_t{4097}, before.size()}) {
      for (const std::size_t count :
           {std::size_t{0}, std::size_t{1}, std::size_t{4095}, std::size_t{4096}, std::size_t{8192},
            std::size_t{1} << 20, (std::size_t{2} << 20) + 1, (std::size_t{3} << 20) - 4096,
            zeros.size() - 5000, zeros.size()}) {
        for (const std::size_t last : {std::size_t{0}, std::size_t{1}, std::size_t{10000}}) {
          CAPTURE(first);
          CAPTURE(count);
          CAPTURE(last);
          ulpscope::DigestStream counted;
          counted.update({before.data(), first});
          counted.update_zeros(count);
          counted.update({before.data(), last});
          ulpscope::DigestStream read;
          read.update({before.data(), first});
          read.update({zeros.data(), count});
          read.update({before.data(), last});
          REQUIRE(counted.finish() == read.finish());
        }
      }
    }
  }

  TEST_CASE("the digest does not depend on where the bytes lie in memory") {
    const Bytes bytes = random_bytes(70000, 5);
    const Digest expected = ulpscope::digest(bytes);
    for (std::size_t shift = 1; shift < 64; ++shift) {
      Bytes moved(bytes.size() + shift);
      std::ranges::copy(bytes, moved.begin() + static_cast<std::ptrdiff_t>(shift));
      CHECK(ulpscope::digest({moved.data() + shift, bytes.size()}) == expected);
    }
  }

  TEST_CASE("changes that sums and XORs miss are seen") {
    std::mt19937 random(6);
    for (const std::size_t size : {std::size_t{64}, std::size_t{4096}, std::size_t{40960}}) {
      const Bytes before = random_bytes(size, 7);
      const Digest digest = ulpscope::digest(before);
      const std::size_t elements = size / 4;
      for (int trial = 0; trial < 300; ++trial) {
        const std::size_t a = random() % elements;
        const std::size_t b = (a + 1 + random() % (elements - 1)) % elements;
        Bytes swapped = before;
        for (std::size_t i = 0; i < 4; ++i) std::swap(swapped[4 * a + i], swapped[4 * b + i]);
        CHECK((swapped == before || ulpscope::digest(swapped) != digest));
        Bytes flipped = before;
        flipped[4 * a + 3] ^= std::byte{0x80};
        flipped[4 * b + 3] ^= std::byte{0x80};
        CHECK(ulpscope::digest(flipped) != digest);
        Bytes one_bit = before;
        one_bit[random() % size] ^= static_cast<std::byte>(1U << (random() % 8));
        CHECK(ulpscope::digest(one_bit) != digest);
      }
    }
    Bytes rows = random_bytes(1 << 20, 8);
    const Digest in_order = ulpscope::digest(rows);
    std::rotate(rows.begin(), rows.begin() + 4096, rows.begin() + 40960);
    CHECK(ulpscope::digest(rows) != in_order);
  }

  TEST_CASE("zeros of different length differ") {
    const Bytes zeros(3 << 20);
    std::set<Digest> seen;
    std::size_t sizes = 0;
    for (std::size_t size = 0; size < zeros.size(); size += size < 9000 ? 1 : 4099, ++sizes)
      seen.insert(ulpscope::digest({zeros.data(), size}));
    CHECK(seen.size() == sizes);
  }

  TEST_CASE("text is 32 lower-case digits, high half first") {
    CHECK(to_string(Digest{0x0123456789abcdef, 0xf}) == "0123456789abcdef000000000000000f");
  }
}
