#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "dump/layout.hpp"
#include "tests/support/dump_builder.hpp"
#include "ulpscope/dump_reader.hpp"
#include "ulpscope/error.hpp"

using namespace ulpscope;
using test::DumpBuilder;
using test::LaneBuilder;
using test::TempDir;

namespace {

/// Sends one sound event, then `bytes`, then another sound event.
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

/// What the builder would send for `fill`, after `damage` had its way with it.
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
    ring::ContentMessage message{};
    message.header = {sizeof message + 8, ring::MessageKind::content, 0};
    message.total = 1ULL << 30;
    message.length = 8;
    std::vector<std::byte> bytes(message.header.size);
    std::memcpy(bytes.data(), &message, sizeof message);
    lane.send();
    dump.recording.consume(0, bytes);
    dump.finish();
    CHECK(open_dump(dir.path())->info().events == 1);
    CHECK(std::filesystem::file_size(dump::segment_path(dump::rank_path(dir.path(), 0), 0)) <
          (1U << 20));
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
