#include <set>
#include <string>

#include "compare/diff/rank_comparison.hpp"
#include "tests/support/synthetic_plan.hpp"
#include "tests/support/synthetic_run.hpp"
#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::comparison;
using namespace ulpscope::test;

namespace {

/// 50,000 events in many steps and in one.
constexpr SyntheticShape kManySteps{.steps = 122, .batches = 1, .layers = 27};
constexpr SyntheticShape kOneStep{.steps = 1, .batches = 130, .layers = 27};
constexpr std::size_t kDifferences = 50;

/// The results of comparing one rank, and the work it took.
struct Compared {
  Compared(const SyntheticRun& reference, const SyntheticRun& candidate,
           const WindowLimits& limits = {})
      : Compared(reference, candidate, limits, own_book) {}
  Compared(const SyntheticRun& reference, const SyntheticRun& candidate, const WindowLimits& limits,
           FindingBook& findings)
      : book(findings), judge(options) {
    RankComparison comparison(reference, candidate, {0, 0}, options, book, totals, judge, limits);
    comparison.run();
    blocks_read = reference.blocks_read + candidate.blocks_read;
    blocks = reference.block_count(0, 0) + candidate.block_count(0, 0);
  }

  /// Names of the ops of findings, and whether all of them are of that kind.
  [[nodiscard]] std::set<std::string> sequences() {
    std::set<std::string> names;
    for (const Record& record : book.records())
      if (record.listed && record.finding.kind == FindingKind::sequence)
        names.insert(record.finding.event.reference && record.finding.event.candidate
                         ? record.evidence.alone.candidate.front()
                         : record.finding.op);
    return names;
  }

  CompareOptions options;
  FindingBook own_book;
  FindingBook& book;
  Totals totals;
  ValueJudge judge;
  std::uint64_t blocks_read = 0;
  std::uint64_t blocks = 0;
};

void check_sequences(Compared& outcome, const SyntheticPlan& plan) {
  std::set<std::string> found = outcome.sequences();
  // Extra ops next to the same ones that the program runs anyway.
  std::erase_if(found, [](const std::string& op) { return !op.starts_with("aten::planted_"); });
  CHECK(found == plan.findings);
  CHECK(outcome.totals.coverage.only_reference == plan.extra.reference);
  CHECK(outcome.totals.coverage.only_candidate == plan.extra.candidate);
  CHECK(outcome.totals.given_up == 0);
}

/// Each event is examined a few times, and each block is read about once.
void check_work(const Compared& outcome) {
  CHECK(outcome.totals.operations < 20 * outcome.totals.coverage.aligned);
  CHECK(outcome.blocks_read < 3 * outcome.blocks);
}

}  // namespace

TEST_SUITE("scale") {
  TEST_CASE("50 differences among 50,000 events with equal values are found, and nothing else") {
    for (const SyntheticShape& shape : {kManySteps, kOneStep}) {
      CAPTURE(shape.steps);
      const SyntheticPlan plan = scattered(shape, kDifferences);
      const SyntheticRun reference(shape, plan.differences.reference);
      const SyntheticRun candidate(shape, plan.differences.candidate);
      CHECK(reference.info().events > 49'000);
      Compared outcome(reference, candidate);
      check_sequences(outcome, plan);
      check_work(outcome);
      for (const Record& record : outcome.book.records()) {
        CAPTURE(record.finding.op);
        CHECK_FALSE(record.finding.diverges);
        CHECK((!record.listed || record.finding.kind == FindingKind::sequence));
      }
    }
  }

  TEST_CASE("50 differences are found where no value is equal any more") {
    for (const SyntheticShape& shape : {kManySteps, kOneStep}) {
      CAPTURE(shape.steps);
      SyntheticPlan plan = scattered(shape, kDifferences);
      constexpr std::uint32_t kFirstLinear = 2;
      plan.differences.candidate.origin = {0, kFirstLinear};
      plan.differences.candidate.edits.erase({0, kFirstLinear});
      const SyntheticRun reference(shape, plan.differences.reference);
      const SyntheticRun candidate(shape, plan.differences.candidate);
      Compared outcome(reference, candidate);
      check_sequences(outcome, plan);
      check_work(outcome);
      std::size_t origins = 0;
      for (const Record& record : outcome.book.records()) {
        if (!record.listed || record.finding.kind == FindingKind::sequence) continue;
        ++origins;
        CHECK(record.finding.kind == FindingKind::origin);
        CHECK(record.finding.op == "aten::addmm");
        CHECK(record.finding.step == 0);
        CHECK(record.finding.module == "blocks.0");
      }
      CHECK(origins == 1);
    }
  }

  TEST_CASE("another program of 50,000 events costs a bounded number of looks at each") {
    for (const SyntheticShape& shape : {kManySteps, kOneStep}) {
      CAPTURE(shape.steps);
      const SyntheticRun reference(shape, {});
      SyntheticDifferences other;
      other.other_program = true;
      const SyntheticRun candidate(shape, other);
      const Compared outcome(reference, candidate);
      CHECK(outcome.totals.operations < 400 * reference.info().events);
      CHECK(outcome.blocks_read < 3 * outcome.blocks);
    }
  }

  TEST_CASE("of two windows without anything in common the run that has more is read on") {
    for (const bool in_reference : {false, true}) {
      CAPTURE(in_reference);
      const auto program = [&](bool longer) {
        RunBuilder run;
        run.step(0).phase(Phase::forward).split_blocks(32);
        Tensor x = run.data(labelled("x"));
        const auto ops = [&](int first, int end, const std::string& name) {
          for (int k = first; k < end; ++k)
            x = run.op(name + std::to_string(k % 7)).in(x).out({static_cast<double>(k)});
        };
        ops(0, 500, "aten::op");
        const Tensor before = x;
        if (longer) ops(10'000, 11'000, "aten::other");
        x = before;
        ops(500, 2000, "aten::op");
        return run.build();
      };
      const auto reference = program(in_reference);
      const auto candidate = program(!in_reference);
      CompareOptions options;
      FindingBook book;
      Totals totals;
      ValueJudge judge(options);
      RankComparison(*reference, *candidate, {0, 0}, options, book, totals, judge,
                     {.events = 64, .most_events = 256})
          .run();
      CHECK(totals.coverage.aligned == 2000);
      CHECK(totals.coverage.only_reference == (in_reference ? 1000 : 0));
      CHECK(totals.coverage.only_candidate == (in_reference ? 0 : 1000));
      CHECK(totals.given_up == 0);
      CHECK_FALSE(book.diverges());
    }
  }

  TEST_CASE("more harmless findings than are kept diverge only where one of them has an effect") {
    const SyntheticShape shape{.steps = 20, .batches = 1, .layers = 27};
    for (const bool parted : {false, true}) {
      CAPTURE(parted);
      SyntheticPlan plan = scattered(shape, kDifferences);
      if (parted) plan.differences.candidate.origin = {19, 70};
      const SyntheticRun reference(shape, plan.differences.reference);
      const SyntheticRun candidate(shape, plan.differences.candidate);
      FindingBook few(3);
      const Compared outcome(reference, candidate, {}, few);
      CHECK(few.left_out() > 20);
      CHECK(few.diverges() == parted);
    }
  }

  TEST_CASE("what happens again and again in one step is told once") {
    const SyntheticShape shape{.steps = 1, .batches = 100, .layers = 2};
    SyntheticDifferences differences;
    const std::size_t places = SyntheticTraining::places(shape).size();
    for (std::uint32_t place = 0; place < places; place += 2)
      differences.edits[{0, place}] = {Edit::Kind::extra, "aten::other"};
    const SyntheticRun reference(shape, {});
    const SyntheticRun candidate(shape, differences);
    FindingBook book(4096, 5);
    const Compared outcome(reference, candidate, {}, book);
    CHECK(outcome.totals.coverage.only_candidate == (places + 1) / 2);
    CHECK(book.records().size() < 5U * 10);
    CHECK_FALSE(book.diverges());
  }

  TEST_CASE("an evaluation longer than any window stands alone and what follows is aligned") {
    const SyntheticShape shape{.steps = 3, .batches = 20, .layers = 10};
    const WindowLimits small{.events = 512, .most_events = 2048};
    for (const bool parted : {false, true}) {
      CAPTURE(parted);
      SyntheticDifferences differences;
      differences.evaluation = {1, 300};
      constexpr std::uint32_t kLinear = 2;
      if (parted) differences.origin = {0, kLinear};
      const SyntheticRun reference(shape, {}, 256);
      const SyntheticRun candidate(shape, differences, 256);
      const Compared outcome(reference, candidate, small);
      CHECK(outcome.totals.coverage.only_reference == 0);
      CHECK(outcome.totals.coverage.only_candidate == 300U * 2 * 10);
      CHECK(outcome.totals.given_up == 0);
    }
  }
}
