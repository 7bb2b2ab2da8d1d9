// What makes runs of Python programs differ: hashes of strings, worker processes, views of NumPy.
#include <memory>

#include "tests/support/ranks_run.hpp"
#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

/// Two parameters, registered in one order or in the other; the values are drawn in that order.
void registers(RunBuilder& run, bool other_order, bool fixed_hashes = false) {
  run.command({"python", "train.py"}).environment("python.hash_randomization", "1");
  if (fixed_hashes) run.environment("env.PYTHONHASHSEED", "0");
  const std::string first = other_order ? "b.weight" : "a.weight";
  const std::string second = other_order ? "a.weight" : "b.weight";
  const Tensor one = run.parameter(first, {1, 2, 3});
  const Tensor two = run.parameter(second, {4, 5, 6});
  run.step(0).phase(Phase::forward);
  run.parameters({one, two});
  const Tensor x = run.data({1, 1, 1});
  const Tensor y = run.op("aten::mul").in(x).in(one).out({1, 2, 3});
  run.op("aten::mul").in(y).in(two).out({4, 10, 18});
}

/// A main process, and so many that it has created for loading data.
std::unique_ptr<Run> with_workers(std::uint32_t workers) {
  auto run = std::make_unique<RanksRun>();
  RunBuilder main;
  main.step(kSetup).phase(Phase::setup);
  const Tensor batch = main.data({1.0 + workers, 2});
  main.op("aten::clone").in(batch).out({1.0 + workers, 2});
  run->add(0, main.build(), {true, "", 0, 0, {}, 0, true});
  for (std::uint32_t k = 1; k <= workers; ++k) {
    RunBuilder worker;
    worker.rank(k);
    worker.op("aten::clone").in(worker.data({1.0 * k})).out({1.0 * k});
    run->add(k, worker.build(), {true, "", 0, 0, 0, k, true});
  }
  return run;
}

}  // namespace

TEST_SUITE("python programs") {
  TEST_CASE("the same values under other names are hash-order, where hashes are random") {
    const Report report = report_of([](RunBuilder& run, bool changed) { registers(run, changed); });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->kind == FindingKind::parameter);
    CHECK(first_cause(report) == "hash-order");
    CHECK(report.causes[0].confidence == Confidence::likely);
    CHECK(has(notes_of(*report.first()),
              "what a.weight holds in the reference, b.weight holds in the candidate"));
  }

  TEST_CASE("with fixed hashes it is only possible") {
    const Report report =
        report_of([](RunBuilder& run, bool changed) { registers(run, changed, true); });
    CHECK(first_cause(report) == "hash-order");
    CHECK(report.causes[0].confidence == Confidence::possible);
  }

  TEST_CASE("data that differ while only the seed of hashes is set differently are hash-order") {
    const auto program = [](bool other_threads) {
      return [other_threads](RunBuilder& run, bool changed) {
        run.command({"python", "train.py"}).environment("env.PYTHONHASHSEED", changed ? "7" : "0");
        if (other_threads) run.environment("threads.intra_op", changed ? "2" : "1");
        run.step(kSetup).phase(Phase::setup);
        run.op("aten::to").in(run.data(labelled(changed ? "b" : "a"))).out(labelled("words"));
      };
    };
    const Report report = report_of(program(false));
    CHECK(first_cause(report) == "hash-order");
    CHECK(report.causes[0].confidence == Confidence::likely);
    CHECK(report.causes[0].evidence == std::vector<std::string>{"env.PYTHONHASHSEED is 0 and 7"});
    CHECK(first_cause(report_of(program(true))) != "hash-order");
  }

  TEST_CASE("what is trained is no data that have an order") {
    const auto compared = [](bool trained) {
      return report_of([trained](RunBuilder& run, bool changed) {
        run.command({"python", "train.py"}).environment("python.hash_randomization", "1");
        run.step(kSetup).phase(Phase::setup);
        run.op("aten::to")
            .in(run.data(labelled(changed ? "b" : "a")), "self",
                trained ? slot_flag::requires_grad : 0)
            .out(labelled(changed ? "y" : "x"));
      });
    };
    const Report data = compared(false);
    CHECK(find_cause(data, "hash-order") != nullptr);
    CHECK(find_cause(data, "data-order") != nullptr);
    const Report trained = compared(true);
    CHECK(find_cause(trained, "hash-order") == nullptr);
    CHECK(find_cause(trained, "data-order") == nullptr);
    CHECK(first_cause(trained) == "data-content");
  }

  TEST_CASE("labels that are numbered otherwise where hashes are random are hash-order") {
    const auto program = [](bool other_generator) {
      return [other_generator](RunBuilder& run, bool changed) {
        run.command({"python", "train.py"}).environment("python.hash_randomization", "1");
        if (other_generator) run.environment("note.rng.numpy", changed ? "b" : "a");
        run.keep_content().step(kSetup).phase(Phase::setup);
        const Values labels = changed ? Values({2, 0, 1}) : Values({0, 1, 2});
        run.op("aten::to").in(run.data(labels)).out(labelled(changed ? "y" : "x"));
      };
    };
    const Report report = report_of(program(false));
    CHECK(first_cause(report) == "hash-order");
    REQUIRE(find_cause(report, "data-order") != nullptr);
    CHECK(find_cause(report, "data-order")->confidence == Confidence::likely);
    CHECK(first_cause(report_of(program(true))) == "data-order");
  }

  TEST_CASE("other data where a generator of Python is further in its stream may be a shift") {
    const auto states = [](const std::string& reference, const std::string& candidate) {
      return report_of([=](RunBuilder& run, bool changed) {
        run.step(0).environment("note.rng.python", changed ? candidate : reference);
        run.phase(Phase::data);
        run.op("aten::stack").in(run.data(labelled(changed ? "b" : "a"))).out(labelled("batch"));
      });
    };
    const Report report = states("c0ffee at 12", "c0ffee at 10");
    const Cause* const cause = find_cause(report, "rng-shift");
    REQUIRE(cause != nullptr);
    CHECK(cause->confidence == Confidence::possible);
    CHECK(has(cause->evidence.at(0), "the generator python is at two places of one stream"));
    CHECK(find_cause(states("c0ffee at 12", "beef at 12"), "rng-shift") == nullptr);
    CHECK(find_cause(states("c0ffee at 12", "c0ffee at 12"), "rng-shift") == nullptr);
  }

  TEST_CASE("the same values under the same names in another order are identical") {
    const Report report = report_of([](RunBuilder& run, bool) { registers(run, false); });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("another number of processes that load data explains other data") {
    const auto reference = with_workers(0);
    const auto candidate = with_workers(2);
    const Report report = compare(*reference, *candidate);
    REQUIRE(report.first() != nullptr);
    const Cause* const cause = find_cause(report, "worker");
    REQUIRE(cause != nullptr);
    CHECK(has(cause->evidence.at(0), "0 and 2 worker processes"));
  }

  TEST_CASE("as many processes explain nothing") {
    const auto reference = with_workers(2);
    const auto candidate = with_workers(2);
    CHECK(compare(*reference, *candidate).verdict == Verdict::identical);
  }

  TEST_CASE("a write past all ops does not follow from a view that only one run takes") {
    const auto program = [](bool computes) {
      return [computes](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const Tensor x = run.data({1, 2, 3});
        const Tensor y = run.op("aten::gelu").in(x).out({2, 3, 4});
        if (changed && computes)
          run.op("aten::exp").in(y).out({7, 8, 9});
        else if (changed)
          run.op("aten::detach").in(y).returns_view(run.view(y, {3}, {1}));
        if (changed) run.overwrite(y, {2, 3, 5});
        run.op("aten::relu").in(y).out({2, 3, changed ? 5.0 : 4.0});
      };
    };
    const Report report = report_of(program(false));
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->kind == FindingKind::write);
    CHECK(first_cause(report) == "external-write");
    CHECK(report_of(program(true)).first()->kind == FindingKind::sequence);
  }

  TEST_CASE("a number differs together with the generator of the program that may have made it") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward).environment("note.rng.python", changed ? "b" : "a");
      const Tensor x = run.data({1, 2});
      run.op("aten::mul")
          .in(x)
          .arg("other", changed ? 0.5 : 0.25)
          .out({changed ? 0.5 : 0.25, changed ? 1.0 : 0.5});
    });
    const Cause* const cause = find_cause(report, "argument");
    REQUIRE(cause != nullptr);
    CHECK(has(cause->evidence.back(), "note.rng.python differs"));
  }
}
