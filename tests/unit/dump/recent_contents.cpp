#include "dump/recent_contents.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>

#include "tests/support/dump_builder.hpp"

using namespace ulpscope;
using dump::RecentContents;
using test::digest_number;

namespace {

/// Contents whose every byte is the low byte of their number.
class Buffer {
 public:
  explicit Buffer(std::size_t capacity)
      : recent(capacity, capacity / 2, [this](std::span<const RecentContents::Content> contents) {
          for (const auto& [digest, bytes] : contents) {
            CHECK(left.emplace(digest, std::vector(bytes.begin(), bytes.end())).second);
          }
        }) {}

  bool add(std::uint64_t number, std::size_t size) {
    const auto place = recent.reserve(digest_number(number), size);
    if (!place) return false;
    recent.fill(*place, 0, bytes_of(number, size));
    recent.complete(*place);
    return true;
  }

  static std::vector<std::byte> bytes_of(std::uint64_t number, std::size_t size) {
    return std::vector(size, static_cast<std::byte>(number));
  }

  std::map<Digest, std::vector<std::byte>> left;
  RecentContents recent;
};

TEST_SUITE("recent contents") {
  TEST_CASE("every content is found until it leaves, whole, and leaves once") {
    Buffer buffer(1000);
    std::mt19937 random(4);
    std::map<std::uint64_t, std::size_t> sizes;
    for (std::uint64_t number = 1; number <= 500; ++number) {
      sizes[number] = 1 + random() % 400;
      REQUIRE(buffer.add(number, sizes[number]));
      for (std::uint64_t other = 1; other <= number; ++other) {
        const auto expected = Buffer::bytes_of(other, sizes[other]);
        const auto found = buffer.recent.find(digest_number(other));
        const auto gone = buffer.left.find(digest_number(other));
        REQUIRE(found.has_value() == (gone == buffer.left.end()));
        if (found) CHECK(std::vector(found->begin(), found->end()) == expected);
        if (!found) CHECK(gone->second == expected);
      }
    }
    buffer.recent.clear();
    CHECK(buffer.left.size() == 500);
    CHECK(buffer.recent.waiting_bytes() == 0);
  }

  TEST_CASE("what is stored already does not leave again") {
    Buffer buffer(1000);
    REQUIRE(buffer.add(1, 100));
    REQUIRE(buffer.add(2, 100));
    buffer.recent.mark_stored(digest_number(1));
    CHECK(buffer.recent.waiting_bytes() == 100);
    buffer.recent.clear();
    CHECK(buffer.left.size() == 1);
    CHECK(buffer.left.contains(digest_number(2)));
  }

  TEST_CASE("a content that is too large, or has no bytes, is not taken") {
    Buffer buffer(1000);
    CHECK_FALSE(buffer.add(1, 501));
    CHECK_FALSE(buffer.add(1, 0));
    CHECK(buffer.add(1, 500));
  }

  TEST_CASE("one that is still coming keeps its room") {
    Buffer buffer(1000);
    const auto first = buffer.recent.reserve(digest_number(1), 400);
    REQUIRE(first);
    REQUIRE(buffer.add(2, 400));
    CHECK_FALSE(buffer.add(3, 400));
    buffer.recent.fill(*first, 0, Buffer::bytes_of(1, 400));
    buffer.recent.complete(*first);
    CHECK(buffer.add(3, 400));
    CHECK(buffer.left.at(digest_number(1)) == Buffer::bytes_of(1, 400));
  }

  TEST_CASE("one that never becomes complete is dropped") {
    Buffer buffer(1000);
    const auto place = buffer.recent.reserve(digest_number(1), 400);
    REQUIRE(place);
    buffer.recent.abandon(*place);
    CHECK_FALSE(buffer.recent.find(digest_number(1)));
    buffer.recent.clear();
    CHECK(buffer.left.empty());
    CHECK(buffer.recent.waiting_bytes() == 0);
  }
}

}  // namespace
