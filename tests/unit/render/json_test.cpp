#include "cli/render/json.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "tests/unit/render/sample_reports.hpp"

using namespace ulpscope;
using nlohmann::ordered_json;

namespace {

ordered_json rendered(const Report& report) {
  std::ostringstream out;
  cli::render_json(report, out);
  return ordered_json::parse(out.str());
}

std::vector<std::string> keys(const ordered_json& object) {
  std::vector<std::string> result;
  for (const auto& [key, value] : object.items()) result.push_back(key);
  return result;
}

Difference& difference_of(Report& report) {
  return *report.findings.front().tensors.back().difference;
}

ordered_json& difference_of(ordered_json& document) {
  return document["first"]["tensors"].back()["difference"];
}

}  // namespace

TEST_SUITE("json") {
  TEST_CASE("the document has the public fields in their order") {
    const ordered_json document = rendered(test::origin_report());
    CHECK(keys(document) ==
          std::vector<std::string>{
              "format",        "schema_version", "verdict",     "summary", "golden",   "reference",
              "candidate",     "rank_pairs",     "coverage",    "first",   "findings", "propagated",
              "growth",        "path",           "environment", "models",  "causes",   "rules",
              "first_outside", "budget",         "tensors"});
    CHECK(document["format"] == "ulpscope-report");
    CHECK(document["schema_version"] == 1);
    CHECK(keys(document["reference"]) ==
          std::vector<std::string>{"path", "format", "command", "complete", "ranks", "steps",
                                   "events", "values", "level", "injected"});
    CHECK(keys(document["coverage"]["not_compared"]) ==
          std::vector<std::string>{"uninitialised", "handle", "layout", "no_bytes", "ignored",
                                   "opaque"});
    CHECK(keys(document["causes"][0]) ==
          std::vector<std::string>{"id", "confidence", "finding", "evidence", "against", "try"});
  }

  TEST_CASE("a finding has the public fields, unknown ones null") {
    const ordered_json finding = rendered(test::origin_report())["first"];
    for (const char* key :
         {"kind",     "diverges",   "absorbed",    "rank",    "lane",  "step",     "phase",
          "root",     "module",     "module_type", "between", "op",    "overload", "parents",
          "children", "forward_op", "device",      "where",   "event", "tensors",  "arguments"}) {
      CAPTURE(key);
      CHECK(finding.contains(key));
    }
    CHECK(finding["kind"] == "origin");
    CHECK(finding["step"] == 17);
    CHECK(finding["where"].is_null());
    CHECK(finding["absorbed"].is_null());
    CHECK(finding["between"].is_null());
    CHECK(finding["event"]["candidate"] == 140913);
    CHECK(finding["tensors"][4]["role"] == "output");
    CHECK(finding["tensors"][4]["shape"]["reference"] == ordered_json({128, 64, 3, 3}));
    CHECK(finding["tensors"][0]["difference"].is_null());
  }

  TEST_CASE("a difference has its numbers as numbers") {
    ordered_json document = rendered(test::origin_report());
    const ordered_json& difference = difference_of(document);
    CHECK(difference["elements"] == 73728);
    CHECK(difference["ulp"]["max"] == 118);
    CHECK(difference["ulp"]["histogram"][1] == ordered_json({1, 1903}));
    CHECK(difference["worst"]["reference"] == -0.00125);
    CHECK(difference["worst"]["bits"] == ordered_json({"0xbaa3d70a", "0xbaa3d780"}));
    CHECK(difference["classes"]["nan"] == ordered_json({0, 0}));
    CHECK(difference["scaled_max"] == 1.1e-07);
  }

  TEST_CASE("setup, a missing module and one-sided events are null") {
    const ordered_json findings = rendered(test::arguments_report())["findings"];
    CHECK(findings[1]["module"].is_null());
    CHECK(findings[1]["between"] == ordered_json({"fc", "SGD"}));
    CHECK(findings[1]["event"]["reference"].is_null());
    CHECK(findings[3]["step"].is_null());
    CHECK(findings[3]["module"] == "");
  }

  TEST_CASE("first is null where nothing diverges") {
    CHECK(rendered(test::identical_report())["first"].is_null());
    Report harmless = test::arguments_report();
    harmless.findings = {harmless.findings.back()};
    CHECK(rendered(harmless)["first"].is_null());
    CHECK(rendered(harmless)["findings"].size() == 1);
  }

  TEST_CASE("numbers that JSON cannot hold exactly are strings") {
    Report report = test::origin_report();
    Difference& difference = difference_of(report);
    difference.absolute_max = std::numeric_limits<double>::infinity();
    difference.absolute_rms = std::numeric_limits<double>::quiet_NaN();
    difference.ulp_max = (std::uint64_t{1} << 53) + 1;
    difference.histogram = {{std::uint64_t{1} << 53, std::uint64_t{1} << 63}};
    difference.worst->reference = "nan";
    difference.worst->candidate = "9007199254740993";
    ordered_json document = rendered(report);
    const ordered_json& json = difference_of(document);
    CHECK(json["absolute"]["max"] == "inf");
    CHECK(json["absolute"]["rms"] == "nan");
    CHECK(json["ulp"]["max"] == "9007199254740993");
    CHECK(json["ulp"]["histogram"][0] == ordered_json({9007199254740992, "9223372036854775808"}));
    CHECK(json["worst"]["reference"] == "nan");
    CHECK(json["worst"]["candidate"] == "9007199254740993");
  }

  TEST_CASE("names that are not UTF-8 still give a document") {
    Report report = test::origin_report();
    report.findings.front().module = "layer\xff";
    CHECK(rendered(report)["first"]["module"] == "layer\xef\xbf\xbd");
  }
}
