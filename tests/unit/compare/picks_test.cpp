#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

/// Rows of a tensor that the program reads one after the other, between the calls of a model.
Report picking(std::initializer_list<std::pair<int, int>> rows, Phase phase = Phase::data) {
  return report_of([&](RunBuilder& run, bool changed) {
    run.step(0).phase(phase);
    const Tensor all = run.op("aten::rand").out(labelled("samples", 48));
    for (const auto& [reference, candidate] : rows) {
      const int row = changed ? candidate : reference;
      const Tensor one = run.view(all, {4}, {1}, 4 * row);
      run.op("aten::select").in(all).arg("index", row).returns_view(one);
      run.op("aten::relu").in(one).out(labelled("row " + std::to_string(row)));
    }
  });
}

}  // namespace

TEST_SUITE("picks") {
  TEST_CASE(
      "rows that are all moved by one distance are an argument, or a batch that begins elsewhere") {
    for (const Report& report : {picking({{3, 4}}), picking({{1, 0}, {2, 1}, {3, 2}})}) {
      CHECK(cause_ids(report) == "argument, data-order");
      CHECK(find_cause(report, "argument")->confidence == Confidence::likely);
      CHECK(find_cause(report, "data-order")->confidence == Confidence::possible);
    }
  }

  TEST_CASE("between the ops of a model one distance is an argument") {
    const Report report = picking({{1, 0}, {2, 1}}, Phase::forward);
    CHECK(cause_ids(report) == "argument");
    CHECK(find_cause(report, "argument")->confidence == Confidence::certain);
  }

  TEST_CASE("the same rows in a different order are data-order") {
    const Report report = picking({{0, 2}, {1, 1}, {2, 0}});
    REQUIRE(report.findings.size() == 1);
    CHECK(first_cause(report) == "data-order");
    CHECK(find_cause(report, "data-order")->evidence.at(0) ==
          "over the whole run both pick the same places, in a different order");
  }

  TEST_CASE("other rows, at distances that vary, are data-order") {
    const Report report = picking({{3, 4}, {5, 1}, {0, 7}});
    REQUIRE(report.findings.size() == 1);
    CHECK(first_cause(report) == "data-order");
    CHECK(find_cause(report, "data-order")->evidence.at(0) ==
          "different samples are picked from equal data");
  }

  TEST_CASE("rows of which one run picks another one twice are not the same in a different order") {
    CHECK(find_cause(picking({{0, 1}, {1, 0}, {1, 0}}), "data-order")->evidence.at(0) ==
          "different samples are picked from equal data");
  }

  TEST_CASE("rows that the program picks between ops of a model are one finding") {
    const Report report = picking({{3, 4}, {5, 1}, {0, 7}}, Phase::forward);
    CHECK(report.findings.size() == 1);
    CHECK(first_cause(report) == "data-order");
  }

  TEST_CASE("what a module picks otherwise is its argument") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor all = run.data(labelled("x", 48));
      run.module("net", [&] {
        for (const int row : {changed ? 4 : 3, changed ? 1 : 5}) {
          const Tensor one = run.view(all, {4}, {1}, 4 * row);
          run.op("aten::select").in(all).arg("index", row).returns_view(one);
          run.op("aten::relu").in(one).out(labelled("row " + std::to_string(row)));
        }
      });
    });
    CHECK(cause_ids(report) == "argument");
  }
}
