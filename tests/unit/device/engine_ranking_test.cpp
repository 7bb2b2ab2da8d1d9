#include "device/engine_ranking.hpp"

#include <doctest/doctest.h>

namespace {

using ulpscope::Digest;
using ulpscope::device::EngineMatch;
using ulpscope::device::EngineTrial;
using ulpscope::device::used_engine;
using ulpscope::device::UsedEngine;
using Engines = std::vector<std::int64_t>;

constexpr Digest kFirst{1, 1};
constexpr Digest kSecond{2, 2};
constexpr Digest kThird{3, 3};

EngineTrial trial(std::int64_t engine, std::vector<Digest> repeats, bool deterministic = true) {
  EngineTrial made;
  made.engine = engine;
  made.noted_deterministic = deterministic;
  made.repeats = std::move(repeats);
  return made;
}

EngineTrial apart(std::int64_t engine, std::uint64_t differing, std::uint64_t ulp) {
  EngineTrial made = trial(engine, {kThird});
  made.to_runs[1].differing = differing;
  made.to_runs[1].ulp_max = ulp;
  return made;
}

}  // namespace

TEST_SUITE("engine ranking") {
  TEST_CASE("the engine whose result has the run's bits is the one it used") {
    const std::vector<EngineTrial> trials{trial(0, {kFirst, kFirst}), trial(1, {kSecond, kSecond})};
    const UsedEngine used = used_engine(trials, kSecond, 0);
    CHECK(used.match == EngineMatch::bits);
    CHECK(used.engine == 1);
    CHECK(used.others.empty());
  }

  TEST_CASE("one repeat with the run's bits is enough") {
    const std::vector<EngineTrial> trials{trial(4, {kFirst, kSecond}, false)};
    CHECK(used_engine(trials, kSecond, 0).match == EngineMatch::bits);
    CHECK_FALSE(repeats_agree(trials[0]));
  }

  TEST_CASE("of several with the same bits the deterministic ones come first, then the lower") {
    const std::vector<EngineTrial> trials{trial(0, {kFirst}, false), trial(3, {kFirst}),
                                          trial(1, {kFirst, kSecond}), trial(2, {kFirst, kFirst})};
    const UsedEngine used = used_engine(trials, kFirst, 0);
    CHECK(used.engine == 2);
    CHECK(used.others == Engines{3, 0, 1});
  }

  TEST_CASE("without equal bits the engine with the fewest differing elements is the nearest") {
    const std::vector<EngineTrial> trials{apart(0, 9, 1), apart(1, 2, 7), apart(2, 2, 5),
                                          apart(3, 2, 5)};
    const UsedEngine used = used_engine(trials, kFirst, 1);
    CHECK(used.match == EngineMatch::nearest);
    CHECK(used.engine == 2);
  }

  TEST_CASE("without engines nothing is said") {
    CHECK(used_engine({}, kFirst, 0).match == EngineMatch::none);
  }
}
