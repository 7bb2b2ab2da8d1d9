#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "dump/layout.hpp"
#include "dump/segment_reader.hpp"
#include "dump/verify.hpp"
#include "tests/support/dump_builder.hpp"
#include "tests/support/layer_dump.hpp"
#include "ulpscope/dump_reader.hpp"
#include "ulpscope/error.hpp"

using namespace ulpscope;
using test::DumpBuilder;
using test::LaneBuilder;
using test::TempDir;

namespace {

/// Sends one valid event, then `bytes`, then a second valid event.
std::string reason_for(const std::vector<std::byte>& bytes, std::uint64_t& events) {
  const TempDir dir;
  DumpBuilder dump(dir.path());
  auto& lane = dump.lane();
  lane.op("aten::relu");
  lane.send();
  dump.recording.consume(0, bytes);
  lane.op("aten::relu");
  dump.finish();
  events = open_dump(dir.path())->info().events;
  CHECK(open_dump(dir.path())->info().complete == dump.recording.stopped().empty());
  return dump.recording.stopped();
}

/// What the builder would send for `fill`, damaged by `damage`.
template <class Fill, class Damage>
std::vector<std::byte> damaged(const Fill& fill, const Damage& damage) {
  const TempDir dir;
  DumpBuilder dump(dir.path());
  auto& lane = dump.lane();
  fill(lane.messages);
  auto bytes = lane.messages.take();
  damage(bytes);
  return bytes;
}

void set32(std::vector<std::byte>& bytes, std::size_t at, std::uint32_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// The first eight bytes of a content of `total` bytes.
std::vector<std::byte> announced(std::uint64_t total) {
  ring::ContentMessage message{};
  message.header = {sizeof message + 8, ring::MessageKind::content, 0};
  message.total = total;
  message.length = static_cast<std::uint32_t>(std::min<std::uint64_t>(total, 8));
  std::vector<std::byte> bytes(message.header.size);
  std::memcpy(bytes.data(), &message, sizeof message);
  return bytes;
}

std::filesystem::path segment_of(const TempDir& dir) {
  return dump::segment_path(dump::rank_path(dir.path(), 0), 0);
}

}  // namespace

TEST_SUITE("malformed messages") {
  TEST_CASE("each ends the recording with a reason and loses nothing before it") {
    const auto string = [](test::MessageWriter& out) { out.string("a name"); };
    const auto event = [](test::MessageWriter& out) { out.event({}, {}, {}); };
    const auto content = [](test::MessageWriter& out) {
      out.content({1, 2}, std::as_bytes(std::span("0123456789")), 4);
    };
    struct Case {
      const char* name;
      std::vector<std::byte> bytes;
    };
    const auto keep = [](auto&) {};
    for (const Case& c : {
             Case{"size 0", damaged(string, [](auto& b) { set32(b, 0, 0); })},
             Case{"size not a multiple of 8", damaged(string, [](auto& b) { set32(b, 0, 17); })},
             Case{"size beyond the end", damaged(string, [](auto& b) { set32(b, 0, 1U << 20); })},
             Case{"unknown kind", damaged(string, [](auto& b) { set32(b, 4, 99); })},
             Case{"string longer than its message",
                  damaged(string, [](auto& b) { set32(b, 12, 1000); })},
             Case{"string id 0", damaged(string, [](auto& b) { set32(b, 8, 0); })},
             Case{"string id out of range",
                  damaged(string, [](auto& b) { set32(b, 8, 1U << 31); })},
             Case{"event of kind 0", damaged(event, keep)},
             Case{"event cut off", damaged(event, [](auto& b) { set32(b, 0, 64), b.resize(64); })},
             Case{"header cut off", std::vector<std::byte>(4)},
             Case{"content that skips bytes",
                  damaged(content, [](auto& b) { b.erase(b.begin() + 48, b.begin() + 96); })},
         }) {
      CAPTURE(c.name);
      std::uint64_t events = 0;
      CHECK_FALSE(reason_for(c.bytes, events).empty());
      CHECK(events == 1);
    }
  }

  TEST_CASE("a content that was announced and never came takes no room") {
    const TempDir dir;
    DumpBuilder dump(dir.path(), {.level = "full"});
    auto& lane = dump.lane();
    lane.op("aten::relu");
    lane.send();
    dump.recording.consume(0, announced(1ULL << 30));
    dump.finish();
    CHECK(open_dump(dir.path())->info().events == 1);
    CHECK(std::filesystem::file_size(segment_of(dir)) < (1U << 20));
  }

  TEST_CASE("nor does it where other contents came meanwhile: they keep their bytes and names") {
    const TempDir dir;
    DumpBuilder dump(dir.path(), {.level = "full"});
    auto& lane = dump.lane();
    auto& other = dump.lane("other");
    const std::vector<float> numbers(1 << 20, 1.5F);
    auto& early = lane.begin(EventKind::module, "Linear");
    early.root("Net").module("early").module_type("Linear").object(1);
    test::add_tensor(lane, early, Role::output, 0, test::floats(numbers));
    lane.end();
    lane.send();
    dump.recording.consume(0, announced(1ULL << 37));
    const std::vector<float> others(1 << 20, 2.5F);
    auto& late = other.begin(EventKind::module, "Linear");
    late.root("Net").module("late").module_type("Linear").object(2);
    test::add_tensor(other, late, Role::output, 0, test::floats(others));
    other.end();
    const std::vector<float> loose(1 << 19, 3.5F);
    other.messages.content(digest(std::as_bytes(std::span(loose))),
                           std::as_bytes(std::span(loose)));
    other.messages.content(digest({}), {});
    other.send();
    dump.finish();
    CHECK(std::filesystem::file_size(segment_of(dir)) < (16U << 20));
    CHECK(std::distance(std::filesystem::directory_iterator(segment_of(dir).parent_path()), {}) ==
          1);
    const auto segment = dump::Segment::open(segment_of(dir));
    CHECK(segment->tables().layers.size() == 2);
    for (const auto& bytes : {std::as_bytes(std::span(numbers)), std::as_bytes(std::span(others)),
                              std::as_bytes(std::span(loose))}) {
      const auto content = segment->content(digest(bytes));
      REQUIRE(content);
      CHECK(std::ranges::equal(*content, bytes));
    }
    CHECK(dump::verify(dir.path()).problems == std::vector<std::string>{});
  }

  TEST_CASE("all lanes together may announce a terabyte") {
    const TempDir dir;
    DumpBuilder dump(dir.path(), {.level = "full"});
    for (const char* name : {"a", "b", "c"}) dump.lane(name);
    dump.recording.consume(0, announced(1ULL << 39));
    dump.recording.consume(1, announced(1ULL << 39));
    CHECK(dump.recording.stopped().empty());
    dump.recording.consume(2, announced(8));
    CHECK_FALSE(dump.recording.stopped().empty());
    dump.finish();
    CHECK(std::filesystem::file_size(segment_of(dir)) < (1U << 20));
  }

  TEST_CASE("an event may use only what was defined") {
    for (const std::size_t field :
         {offsetof(ring::EventRow, op), offsetof(ring::EventRow, module),
          offsetof(ring::EventRow, root), offsetof(ring::EventRow, module_type)}) {
      CAPTURE(field);
      auto bytes = damaged(
          [](test::MessageWriter& out) {
            ring::EventRow row{};
            row.kind = 1;
            row.position = 1;
            out.event(row, {}, {});
          },
          [&](auto& b) { set32(b, field, 1000); });
      std::uint64_t events = 0;
      CHECK_FALSE(reason_for(bytes, events).empty());
      CHECK(events == 1);
    }
  }

  TEST_CASE("random bytes in messages never do harm") {
    std::mt19937_64 random(11);
    for (int i = 0; i < 300; ++i) {
      const TempDir dir;
      DumpBuilder dump(dir.path());
      auto& lane = dump.lane();
      LaneBuilder helper(dump, 0);
      for (int k = 0; k < 4; ++k) {
        helper.begin(EventKind::op, "aten::add").root("Net").module("fc").rng(1, 2, 3);
        helper.op("aten::mm").input({.digest = 3, .storage = 4, .writer = 1}).output({.digest = 5});
        helper.end();
        helper.messages.content(digest({}), {});
        helper.messages.environment(dump.tick(), "key", "value");
      }
      auto bytes = helper.messages.take();
      for (int k = 0; k < 3; ++k) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
      dump.recording.consume(0, bytes);
      static_cast<void>(lane);
      dump.finish();
      try {
        const auto run = open_dump(dir.path());
        for (std::size_t k = 0; k < run->block_count(0, 0); ++k) {
          static_cast<void>(run->block(0, 0, k));
        }
      } catch (const Error&) {
        // A program that repeats a position spoils its own dump, but nothing else.
      }
    }
  }
}
