#include <doctest/doctest.h>

#include <cmath>

#include "dump/layout.hpp"
#include "dump/recovery.hpp"
#include "dump/segment_reader.hpp"
#include "dump/verify.hpp"
#include "tests/support/dump_builder.hpp"
#include "ulpscope/dump_reader.hpp"

using namespace ulpscope;
using test::digest_number;
using test::DumpBuilder;
using test::TempDir;

namespace {

constexpr Statistics kStatistics{.min = -1.5,
                                 .max = 3,
                                 .mean = 0.25,
                                 .l2 = 7,
                                 .elements = 6,
                                 .nan = 1,
                                 .inf = 2,
                                 .zero = 3,
                                 .subnormal = 4};

dump::Tables tables_of(const TempDir& dir, std::uint32_t segment) {
  return dump::Segment::open(dump::segment_path(dump::rank_path(dir.path(), 0), segment))->tables();
}

TEST_SUITE("statistics in a dump") {
  TEST_CASE("a value's statistics come back as they were sent") {
    const TempDir dir;
    DumpBuilder dump(dir.path(), {.level = "stats"});
    auto& lane = dump.lane();
    lane.messages.statistics(digest_number(1), Dtype::float32, kStatistics);
    lane.op("aten::relu").output({.digest = 1});
    dump.finish();
    const auto run = open_dump(dir.path());
    const auto found = run->statistics(0, digest_number(1), Dtype::float32);
    REQUIRE(found);
    CHECK(found->min == kStatistics.min);
    CHECK(found->max == kStatistics.max);
    CHECK(found->mean == kStatistics.mean);
    CHECK(found->l2 == kStatistics.l2);
    CHECK(found->elements == kStatistics.elements);
    CHECK(found->nan == kStatistics.nan);
    CHECK(found->inf == kStatistics.inf);
    CHECK(found->zero == kStatistics.zero);
    CHECK(found->subnormal == kStatistics.subnormal);
    CHECK_FALSE(run->statistics(0, digest_number(1), Dtype::int32));
    CHECK(dump::verify(dir.path()).sound());
  }

  TEST_CASE("a segment holds the statistics of its own values, each once") {
    const TempDir dir;
    DumpBuilder dump(dir.path(), {.segment_steps = 1});
    auto& lane = dump.lane();
    for (std::uint64_t n = 1; n <= 3; ++n) {
      lane.messages.statistics(digest_number(n), Dtype::float32, kStatistics);
      lane.messages.statistics(digest_number(n), Dtype::float32, kStatistics);
    }
    for (int step = 0; step < 3; ++step) {
      lane.op("aten::mm").root("Net").module("fc").input({.digest = 1}).output({.digest = 2});
      lane.add(EventKind::optimizer, "SGD::step").object(1).no_grad();
      lane.send();
    }
    dump.finish();
    const auto segments = dump::list_ranks(dir.path())[0].segments;
    REQUIRE(segments.size() > 1);
    for (const std::uint32_t segment : segments)
      if (!tables_of(dir, segment).blocks.empty())
        CHECK(tables_of(dir, segment).statistics.size() == 2);
  }

  TEST_CASE("NaN and counts beyond all memory are kept as they are") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    Statistics odd;
    odd.min = odd.max = odd.mean = NAN;
    odd.elements = odd.nan = ~std::uint64_t{0};
    lane.messages.statistics(digest_number(1), static_cast<Dtype>(200), odd);
    lane.messages.geometry(static_cast<Dtype>(200), {2});
    lane.op("aten::relu").output({.digest = 1, .sizes = {2}, .dtype = static_cast<Dtype>(200)});
    dump.finish();
    const auto run = open_dump(dir.path());
    const auto found = run->statistics(0, digest_number(1), static_cast<Dtype>(200));
    REQUIRE(found);
    CHECK(std::isnan(found->min));
    CHECK(found->nan == ~std::uint64_t{0});
  }

  TEST_CASE("statistics that are cut short end the recording") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    dump.lane();
    ring::MessageHeader header{16, ring::MessageKind::statistics, 0};
    std::vector<std::byte> bytes(16);
    std::memcpy(bytes.data(), &header, sizeof header);
    dump.recording.consume(0, bytes);
    CHECK(dump.recording.stopped().find("statistics that do not add up") != std::string::npos);
  }

  TEST_CASE("a killed recording brings statistics of events not yet published back") {
    const TempDir dir;
    {
      DumpBuilder dump(dir.path(), {.segment_steps = 1});
      auto& lane = dump.lane();
      lane.messages.statistics(digest_number(9), Dtype::float32, kStatistics);
      for (int step = 0; step < 4; ++step) {
        lane.op("aten::mm").root("Net").module("fc").input({.digest = 1});
        lane.add(EventKind::optimizer, "SGD::step").object(1).no_grad();
        lane.send();
      }
      lane.op("aten::relu").root("Net").module("fc").input({.digest = 9});
      lane.send();
    }
    dump::recover(dir.path());
    CHECK(open_dump(dir.path())->statistics(0, digest_number(9), Dtype::float32));
  }
}

}  // namespace
