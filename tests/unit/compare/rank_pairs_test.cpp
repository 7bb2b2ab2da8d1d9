#include "compare/align/rank_pairs.hpp"

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/ranks_run.hpp"
#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::comparison;
using namespace ulpscope::test;

namespace {

/// A run whose ranks compute what their seed says.
class SomeRanks : public RanksRun {
 public:
  SomeRanks& add(std::uint32_t number, RankIdentity identity, int seed, int ops = 4) {
    RunBuilder builder;
    builder.rank(number).step(0);
    if (ops == 0) builder.without_outcomes();
    for (int k = 0; k < ops; ++k) {
      const Tensor x = builder.data({1.0 * seed + k});
      builder.op("aten::exp").in(x).out({10.0 * seed + k});
    }
    RanksRun::add(number, builder.build(), std::move(identity));
    return *this;
  }
};

RankIdentity declared(std::uint32_t rank, std::uint32_t restart = 0) {
  return {true, "RANK", rank, restart, {}, 0, true};
}
RankIdentity child(std::optional<std::uint32_t> creator, std::uint32_t order,
                   bool order_counts = true) {
  return {true, "", 0, 0, creator, order, order_counts};
}

/// A process that trains a weight in two steps, and one whose weight is what `left` says when it
/// first reads it. `train` names what the first one computes.
[[nodiscard]] std::unique_ptr<RanksRun> two_trainers(const std::string& train,
                                                     const std::string& left,
                                                     const std::string& program = "train") {
  auto run = std::make_unique<RanksRun>();
  run->command({program});
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    RunBuilder builder;
    builder.rank(rank).step(0).phase(Phase::forward);
    const bool reads = rank == 2;
    if (rank > 0) {
      const Tensor w = builder.parameter("fc.weight", labelled(reads ? left : "w", 8));
      builder.parameters({w});
      builder.op("aten::exp").in(w).out(labelled("y of " + builder.content_words(w), 8));
      for (const std::string step : {"1", "2"})
        if (!reads) builder.op("aten::add_").in(w).writes(w, labelled(train + step, 8));
    }
    run->add(rank, builder.build(), rank == 0 ? declared(0) : child(0, rank - 1));
  }
  return run;
}

using Matched = std::tuple<std::uint32_t, std::uint32_t, RankMatch>;

std::vector<Matched> matched(const SomeRanks& reference, const SomeRanks& candidate) {
  std::vector<Matched> matches;
  for (const RankPair& pair : rank_pairs({&reference, &candidate}))
    matches.emplace_back(pair.numbers.reference, pair.numbers.candidate, pair.by);
  return matches;
}

}  // namespace

TEST_SUITE("rank pairs") {
  TEST_CASE("what a rank leaves that shares no event with its partner is not known to be equal") {
    const auto run_with = [](const std::string& op, const std::string& left) {
      auto run = std::make_unique<RanksRun>();
      for (const std::uint32_t rank : {0U, 1U}) {
        RunBuilder builder;
        builder.rank(rank).step(0).phase(Phase::forward);
        const Tensor weight = builder.parameter("fc.weight", labelled("w"));
        builder.op(rank == 0 ? "aten::exp_" : op)
            .in(weight)
            .writes(weight, labelled(rank == 0 ? "w1" : left));
        builder.leaves({weight});
        run->add(rank, builder.build(), {});
      }
      return run;
    };
    const auto reference = run_with("aten::log_", "a");
    const auto candidate = run_with("aten::sin_", "b");
    const Report report = compare(*reference, *candidate);
    CHECK(report.verdict != Verdict::identical);
    CHECK(compare(*reference, *run_with("aten::log_", "a")).verdict == Verdict::identical);
  }

  constexpr RankMatch kNumber = RankMatch::number;
  constexpr RankMatch kDeclared = RankMatch::declared;
  constexpr RankMatch kCreation = RankMatch::creation;
  constexpr RankMatch kContent = RankMatch::content;

  TEST_CASE("ranks of a dump that does not say who they are go by number") {
    SomeRanks a, b;
    a.add(0, {}, 1).add(1, {}, 2);
    b.add(1, declared(0), 1).add(2, declared(1), 2);
    CHECK(matched(a, b) == std::vector<Matched>{{1, 1, kNumber}});
  }

  TEST_CASE("declared ranks go by what they declare, not by number") {
    SomeRanks a, b;
    a.add(0, declared(0), 1).add(1, declared(1), 2);
    b.add(0, declared(1), 2).add(1, declared(0), 1);
    CHECK(matched(a, b) == std::vector<Matched>{{0, 1, kDeclared}, {1, 0, kDeclared}});
  }

  TEST_CASE("ranks that were started again go by their place in time") {
    SomeRanks a, b;
    a.add(0, declared(0), 1).add(1, declared(0, 1), 2).add(2, declared(0, 2), 3);
    b.add(0, declared(0), 1).add(5, declared(0, 1), 2);
    CHECK(matched(a, b) == std::vector<Matched>{{0, 0, kDeclared}, {1, 5, kDeclared}});
  }

  TEST_CASE(
      "others go by creator and order of creation, also where what they compute is exchanged") {
    SomeRanks a, b;
    a.add(0, declared(0), 1).add(1, declared(1), 2);
    a.add(2, child(0, 0), 5).add(3, child(0, 1), 6).add(4, child(1, 0), 7);
    b.add(0, declared(0), 1).add(1, declared(1), 2);
    b.add(2, child(1, 0), 7).add(3, child(0, 0), 6).add(4, child(0, 1), 5);
    CHECK(matched(a, b) == std::vector<Matched>{{0, 0, kDeclared},
                                                {1, 1, kDeclared},
                                                {2, 3, kCreation},
                                                {3, 4, kCreation},
                                                {4, 2, kCreation}});
  }

  TEST_CASE("where the order says nothing, what they compute decides, and then the order") {
    SomeRanks a, b;
    a.add(0, child({}, 0, false), 1).add(1, child({}, 1, false), 2).add(2, child({}, 2, false), 3);
    b.add(0, child({}, 0, false), 3).add(1, child({}, 1, false), 1).add(2, child({}, 2, false), 9);
    CHECK(matched(a, b) ==
          std::vector<Matched>{{0, 1, kContent}, {1, 2, kCreation}, {2, 0, kContent}});
  }

  TEST_CASE("one that has most in common is the partner, though it ends otherwise") {
    SomeRanks a, b;
    a.add(0, child({}, 0, false), 1, 9).add(1, child({}, 1, false), 2, 9);
    b.add(0, child({}, 0, false), 2, 7).add(1, child({}, 1, false), 1, 3);
    CHECK(matched(a, b) == std::vector<Matched>{{0, 1, kContent}, {1, 0, kContent}});
  }

  TEST_CASE("one that only one run has finds itself no partner, and nothing is identical") {
    SomeRanks a, b;
    a.add(0, child({}, 0), 1).add(1, child({}, 1), 2).add(2, child({}, 2), 3);
    b.add(0, child({}, 0), 1).add(1, child({}, 1), 3);
    CHECK(matched(a, b) == std::vector<Matched>{{0, 0, kContent}, {2, 1, kContent}});
    const Report report = compare(a, b, {});
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(has(report.summary, "one run alone has 1 rank"));
    CHECK(report.rank_pairs.size() == 2);
  }

  TEST_CASE("different declared ranks are never partners") {
    SomeRanks a, b;
    a.add(0, declared(0), 1).add(1, declared(0, 1), 2);
    b.add(0, declared(0), 1).add(1, declared(1), 2);
    CHECK(matched(a, b) == std::vector<Matched>{{0, 0, kDeclared}});
  }

  TEST_CASE("a declared rank may be one that the other run only numbers") {
    SomeRanks a, b;
    a.add(0, declared(0), 1).add(1, declared(1), 2);
    b.add(0, child({}, 0), 1).add(1, child({}, 1), 2);
    CHECK(matched(a, b) == std::vector<Matched>{{0, 0, kNumber}, {1, 1, kNumber}});
  }

  TEST_CASE("the only ranks are partners") {
    SomeRanks a, b;
    a.add(0, declared(0), 1);
    b.add(3, declared(3), 1);
    CHECK(matched(a, b) == std::vector<Matched>{{0, 3, kNumber}});
  }

  TEST_CASE("a rank that only one run has and that computes nothing is no difference") {
    SomeRanks a, b;
    a.add(0, declared(0), 1).add(1, child({}, 0), 0, 0);
    b.add(0, declared(0), 1);
    CHECK(compare(a, b, {}).verdict == Verdict::identical);
  }

  TEST_CASE("a process that reads what another one has written in between shares its memory") {
    const auto race = [](const std::string& reference, const std::string& candidate,
                         const std::string& program = "train") {
      const Report report =
          compare(*two_trainers("w", reference), *two_trainers("w", candidate, program));
      CHECK(report.verdict == Verdict::diverged);
      CHECK((first_cause(report) == "race") == (find_cause(report, "init") == nullptr));
      const Cause* const cause = find_cause(report, "race");
      return cause == nullptr ? std::nullopt : std::optional(cause->confidence);
    };
    CHECK(race("w1", "w2") == Confidence::likely);
    CHECK(race("before", "w2") == Confidence::likely);
    CHECK(race("w1", "w2", "another") == Confidence::possible);
    CHECK(race("before", "other") == std::nullopt);
  }
}
