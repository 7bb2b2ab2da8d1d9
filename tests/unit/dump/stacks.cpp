#include <doctest/doctest.h>

#include "dump/recovery.hpp"
#include "tests/support/dump_builder.hpp"
#include "ulpscope/dump_reader.hpp"

using namespace ulpscope;
using test::DumpBuilder;
using test::TempDir;

namespace {

void add_op(test::LaneBuilder& lane, std::uint32_t stack) {
  lane.op("aten::mm").row().stack = stack;
}

std::vector<std::string> stacks_of(const TempDir& dir) {
  std::vector<std::string> stacks;
  const auto run = open_dump(dir.path());
  for (std::size_t i = 0; i < run->block_count(0, 0); ++i)
    for (const Event& event : run->block(0, 0, i).events) stacks.emplace_back(event.stack);
  return stacks;
}

TEST_SUITE("stacks in a dump") {
  TEST_CASE("frames are what the resolver says, a line each, each asked for once") {
    const TempDir dir;
    int asked = 0;
    DumpBuilder dump(dir.path(), {.resolve_frame = [&](std::string_view object, std::uint64_t at) {
                       ++asked;
                       return at == 2 ? "" : std::string(object) + ":" + std::to_string(at);
                     }});
    auto& lane = dump.lane();
    const auto first = lane.messages.stack({{"train", 1}, {"train", 2}});
    const auto second = lane.messages.stack({{"lib.so", 1}, {"train", 1}});
    add_op(lane, first);
    add_op(lane, second);
    add_op(lane, 0);
    dump.finish();
    CHECK(stacks_of(dir) ==
          std::vector<std::string>{"train:1\ntrain+0x2", "lib.so:1\ntrain:1", ""});
    CHECK(asked == 3);
  }

  TEST_CASE("a stack that was never defined, or names no object, ends the recording") {
    const TempDir dir;
    SUBCASE("unknown id") {
      DumpBuilder dump(dir.path());
      auto& lane = dump.lane();
      add_op(lane, 7);
      lane.send();
      CHECK_FALSE(dump.recording.stopped().empty());
    }
    SUBCASE("no object") {
      DumpBuilder dump(dir.path());
      ring::StackMessage message{};
      const ring::StackFrame frame{16, 5, 0};
      message.header = {sizeof message + sizeof frame, ring::MessageKind::stack, 0};
      message.id = 1;
      message.frames = 1;
      std::vector<std::byte> bytes(message.header.size);
      std::memcpy(bytes.data(), &message, sizeof message);
      std::memcpy(bytes.data() + sizeof message, &frame, sizeof frame);
      dump.lane();
      dump.recording.consume(0, bytes);
      CHECK(dump.recording.stopped().find("a stack that does not add up") != std::string::npos);
    }
    SUBCASE("more frames than there are bytes") {
      DumpBuilder dump(dir.path());
      ring::StackMessage message{};
      message.header = {sizeof message, ring::MessageKind::stack, 0};
      message.id = 1;
      message.frames = 100;
      std::vector<std::byte> bytes(message.header.size);
      std::memcpy(bytes.data(), &message, sizeof message);
      dump.lane();
      dump.recording.consume(0, bytes);
      CHECK_FALSE(dump.recording.stopped().empty());
    }
  }

  TEST_CASE("a killed recording brings stacks back") {
    const TempDir dir;
    {
      DumpBuilder dump(dir.path());
      auto& lane = dump.lane();
      add_op(lane, lane.messages.stack({{"train", 255}}));
      lane.send();
    }
    dump::recover(dir.path());
    CHECK(stacks_of(dir) == std::vector<std::string>{"train+0xff"});
  }
}

}  // namespace
