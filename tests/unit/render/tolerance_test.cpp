#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/inputs/tolerance_file.hpp"
#include "cli/render/json.hpp"
#include "cli/render/text.hpp"
#include "cli/render/tolerance_text.hpp"
#include "tests/unit/render/sample_reports.hpp"
#include "ulpscope/error.hpp"

using namespace ulpscope;
using namespace std::chrono_literals;

namespace {

Report judged_report() {
  Report report = test::origin_report();
  report.verdict = Verdict::within;
  RuleUse used{
      {"aten::mkldnn*", "layer2.*", {64, 1e-5, {}}, "oneDNN 3", {}, "t.toml:1"}, false, 3, 1};
  RuleUse expired{{"*", {}, {{}, {}, 1e-8}, "", 2026y / 1 / 31, "t.toml:9"}, true, 0, 0};
  report.rules = {used, expired, {{"aten::mm", {}, {1, {}, {}}, "", {}, "t.toml:12"}, false, 0, 0}};
  TensorReport& tensor = report.findings.front().tensors.back();
  tensor.tolerance = ToleranceResult{true, 0};
  tensor.difference->budget = Budget{64, true, "sum of 4608 float32 products", 0.125, {}};
  report.budget = BudgetSummary{1, 0, 0, 0, 0, 0.125};
  return report;
}

std::string text_of(const Report& report) {
  std::ostringstream out;
  cli::render_text(report, {}, out);
  return out.str();
}

bool has_part(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string refusal(const std::string& text) {
  try {
    (void)cli::parse_tolerance(text, "t.toml");
  } catch (const Error& error) {
    return std::string(error.what()) + " / " + std::string(error.hint());
  }
  return "accepted";
}

}  // namespace

TEST_SUITE("tolerance in reports") {
  TEST_CASE("the text says which rule let a difference pass, and which have expired") {
    const std::string text = text_of(judged_report());
    CHECK(has_part(text,
                   "t.toml:1 (op aten::mkldnn*, module layer2.*, max_ulp 64, rtol 1e-05): let 3"));
    CHECK(has_part(text, "1 outside (oneDNN 3)"));
    CHECK(
        has_part(text, "t.toml:9 (op *, atol 1e-08) expired after 2026-01-31 and was not applied"));
    CHECK(has_part(text, "1 rule not needed"));
    CHECK(has_part(text, "inside, by t.toml:1"));
    CHECK(has_part(text, "inside, takes 12.5 % of 64 ULP: sum of 4608 float32 products"));
  }

  TEST_CASE("the JSON has rules, the tensor's rule and the budget") {
    std::ostringstream out;
    cli::render_json(judged_report(), out);
    const auto document = nlohmann::ordered_json::parse(out.str());
    CHECK(document["rules"][0]["where"] == "t.toml:1");
    CHECK(document["rules"][0]["passed"] == 3);
    CHECK(document["rules"][1]["expires"] == "2026-01-31");
    CHECK(document["rules"][1]["expired"] == true);
    CHECK(document["budget"]["inside"] == 1);
    const auto& tensor = document["first"]["tensors"].back();
    CHECK(tensor["tolerance"]["rule"] == 0);
    CHECK(tensor["difference"]["budget"]["ulp"] == 64);
    CHECK(tensor["difference"]["budget"]["inside"] == true);
    CHECK(tensor["difference"]["budget"]["why"] == "sum of 4608 float32 products");
  }

  TEST_CASE("a golden run's other conditions come before everything else") {
    Report report = judged_report();
    report.golden = GoldenConditions{{{"cpu.capability", "AVX2", "AVX512", true, {}}}};
    CHECK(text_of(report).starts_with("golden     recorded under other conditions"));
    CHECK(has_part(text_of(report), "cpu.capability is AVX2 and AVX512"));
    Report same = test::identical_report();
    same.golden = GoldenConditions{};
    CHECK(text_of(same).starts_with("IDENTICAL"));
    same.golden = report.golden;
    CHECK(text_of(same).starts_with("golden"));
    std::ostringstream out;
    cli::render_json(same, out);
    CHECK(nlohmann::json::parse(out.str())["golden"]["same_conditions"] == false);
  }
}

TEST_SUITE("tolerance file") {
  TEST_CASE("a rule has what its lines say") {
    const auto rules = cli::parse_tolerance(
        "# comment\n[[rule]]\nop = \"aten::mm\"\nmodule = \"layer2.*\"\nmax_ulp = 16\nrtol = 1e-5\n"
        "atol = 1\nreason = \"why\"\nexpires = 2027-01-31\n\n[[rule]]\nmax_ulp = 0\n",
        "t.toml");
    REQUIRE(rules.size() == 2);
    CHECK(rules[0].op == "aten::mm");
    CHECK(rules[0].module == "layer2.*");
    CHECK(rules[0].limits.max_ulp == 16);
    CHECK(rules[0].limits.rtol == 1e-5);
    CHECK(rules[0].limits.atol == 1.0);
    CHECK(rules[0].reason == "why");
    CHECK(rules[0].expires == 2027y / 1 / 31);
    CHECK(rules[0].where == "t.toml:2");
    CHECK(rules[1].op == "*");
    CHECK_FALSE(rules[1].module.has_value());
    CHECK_FALSE(rules[1].expires.has_value());
    CHECK(rules[1].where == "t.toml:11");
  }

  TEST_CASE("what is no rule is refused with its line and a way out") {
    CHECK(refusal("[[rule]]\nmax_upl = 1\n") ==
          "t.toml:2: there is no key 'max_upl' / did you mean max_ulp?");
    CHECK(refusal("[rule]\nmax_ulp = 1\n") ==
          "t.toml:1: 'rule' is a list of tables / begin each rule with [[rule]]");
    CHECK(refusal("rule = [1, 2]\n") ==
          "t.toml:1: 'rule' is a list of tables / begin each rule with [[rule]]");
    CHECK(refusal("[[rule]]\nrtol = inf\n") ==
          "t.toml:2: rtol takes a number that is not negative / give it as rtol = 1e-5");
    CHECK(refusal("[[rule]]\nmax_ulp = -1\n") ==
          "t.toml:2: max_ulp takes a whole number / give it as max_ulp = 16");
    CHECK(refusal("[[rule]]\nop = 3\nmax_ulp = 1\n") ==
          "t.toml:2: op takes text / give it as op = \"aten::convolution*\"");
    CHECK(refusal("[[rule]]\nexpires = 2027-01-31T00:00:00\n") ==
          "t.toml:2: expires takes a date without quotes / give it as expires = 2027-01-31");
    CHECK(refusal("") == "'t.toml' has no rules / begin each rule with [[rule]]");
  }
}
