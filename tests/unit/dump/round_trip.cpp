#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <thread>

#include "tests/support/dump_builder.hpp"
#include "tests/support/training_dump.hpp"
#include "ulpscope/dump_reader.hpp"

using namespace ulpscope;
using test::digest_number;
using test::DumpBuilder;
using test::TempDir;

namespace {

std::vector<std::byte> bytes(std::string_view text) {
  const auto span = std::as_bytes(std::span(text));
  return {span.begin(), span.end()};
}

}  // namespace

TEST_SUITE("round trip") {
  TEST_CASE("every field of an event comes back as it was sent") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    lane.op("aten::zeros").output({.digest = 7, .storage = 3, .writer = 0});
    auto& event = lane.op("aten::add", "Tensor")
                      .root("Net")
                      .module("layer1.0")
                      .module_type("Linear")
                      .object(12)
                      .rng(42, 100, 101)
                      .forward(0, 0)
                      .arguments(bytes("alpha"));
    event.input({.digest = 7,
                 .flags = slot_flag::verified,
                 .name = "fc.weight",
                 .storage = 3,
                 .writes = 1,
                 .writer = 0});
    event.output({.digest = 8, .storage = 9, .writes = 4, .writer = 1, .sizes = {4, 5, 6}});
    event.row().threads = 8;
    event.slots()[1].alignment = 32;
    event.slots()[1].element = 2;
    dump.finish();

    const auto run = open_dump(dir.path());
    REQUIRE(run->block_count(0, 0) == 2);
    CHECK(run->block(0, 0, 0).step == kSetup);
    CHECK_FALSE(run->block(0, 0, 0).events.at(0).has_module);
    const Block block = run->block(0, 0, 1);
    CHECK(block.step == 0);
    REQUIRE(block.events.size() == 1);
    const Event& add = block.events[0];
    CHECK(add.position == 1);
    CHECK(add.parent == kNone);
    CHECK(add.forward == 0);
    CHECK(add.object == 12);
    CHECK(add.kind == EventKind::op);
    CHECK(add.phase == Phase::forward);
    CHECK(add.threads == 8);
    CHECK(add.flags == (event_flag::grad_mode | event_flag::seeded));
    CHECK(add.op == "aten::add");
    CHECK(add.overload == "Tensor");
    CHECK(add.root == "Net");
    CHECK(add.module == "layer1.0");
    CHECK(add.has_module);
    CHECK(add.module_type == "Linear");
    CHECK(add.rng.seed == 42);
    CHECK(add.rng.before == digest_number(100));
    CHECK(add.rng.after == digest_number(101));
    CHECK(bytes("alpha") ==
          std::vector<std::byte>(add.argument_bytes.begin(), add.argument_bytes.end()));
    REQUIRE(add.slots.size() == 2);
    CHECK(add.slots[0].digest == digest_number(7));
    CHECK(add.slots[0].flags == slot_flag::verified);
    CHECK(add.slots[0].name == "fc.weight");
    CHECK(add.slots[0].storage == 3);
    CHECK(add.slots[0].writes == 1);
    CHECK(add.slots[0].writer == 0);
    CHECK(add.slots[1].role == Role::output);
    CHECK(add.slots[1].index == 1);
    CHECK(add.slots[1].element == 2);
    CHECK(add.slots[1].alignment == 32);
    CHECK(add.slots[1].digest == digest_number(8));
    CHECK(add.slots[1].storage == 9);
    CHECK(add.slots[1].writes == 4);
    CHECK(add.slots[1].writer == 1);
    REQUIRE(add.slots[1].geometry != nullptr);
    CHECK(add.slots[1].geometry->sizes == std::vector<std::int64_t>{4, 5, 6});
    CHECK(add.slots[1].geometry->strides == std::vector<std::int64_t>{30, 6, 1});
    CHECK(add.slots[1].geometry->dtype == Dtype::float32);
    CHECK(run->info().complete);
    CHECK(run->info().events == 2);
    CHECK(run->info().values == 3);
  }

  TEST_CASE("the content of a value comes back by its digest") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    std::vector<std::byte> large(9'000'001);
    for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<std::byte>(i * 7 >> 3);
    const auto small = bytes("sixteen bytes ok");
    lane.messages.content(digest(small), small);
    lane.messages.content(digest(large), large, 1'000'000);
    lane.messages.content(digest({}), {});
    dump.finish();

    const auto run = open_dump(dir.path());
    CHECK(run->content(0, digest(small)) == small);
    CHECK(run->content(0, digest(large)) == large);
    CHECK(run->content(0, digest({})) == std::vector<std::byte>());
    CHECK_FALSE(run->content(0, digest_number(1)).has_value());
  }

  // A host may have threads; under ThreadSanitizer this shows what they share.
  TEST_CASE("a kernel that came by its linkage name is named as the program has it") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    lane.add(EventKind::kernel, "_ZN4host5totalILi1EEEvPKfPf");
    lane.add(EventKind::kernel, "gemm_64x64");
    dump.finish();
    const Block block = open_dump(dir.path())->block(0, 0, 0);
    REQUIRE(block.events.size() == 2);
    CHECK(block.events[0].kind == EventKind::kernel);
    CHECK(block.events[0].op == "void host::total<1>(float const*, float*)");
    CHECK(block.events[1].op == "gemm_64x64");
  }

  TEST_CASE("several threads may open dumps and read one run") {
    const TempDir dir;
    DumpBuilder dump(dir.path(), {.level = "full", .segment_steps = 1});
    auto& lane = dump.lane();
    const auto content = bytes("sixteen bytes ok");
    lane.messages.content(digest(content), content);
    test::TrainingRun training(lane);
    for (int i = 0; i < 8; ++i) training.step();
    dump.finish();

    const std::unique_ptr<const Run> shared = open_dump(dir.path());
    std::atomic<std::uint64_t> events = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const std::unique_ptr<const Run> own = open_dump(dir.path());
        for (const Run* run : {shared.get(), own.get()}) {
          for (std::size_t k = 0; k < run->block_count(0, 0); ++k) {
            events += run->block(0, 0, k).events.size();
          }
          if (!run->content(0, digest(content))) events = 0;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    CHECK(events == 8 * shared->info().events);
  }
}
