#include "cli/render/text.hpp"

#include <doctest/doctest.h>

#include <regex>
#include <sstream>
#include <string>

#include "tests/unit/render/sample_reports.hpp"

using namespace ulpscope;

namespace {

std::string rendered(const Report& report, const cli::Terminal& terminal = {}) {
  std::ostringstream out;
  cli::render_text(report, terminal, out);
  return out.str();
}

std::vector<std::string> lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> result;
  for (std::string line; std::getline(in, line);) result.push_back(line);
  return result;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

Report with_verdict(Verdict verdict, const std::string& summary) {
  Report report = test::identical_report();
  report.verdict = verdict;
  report.summary = summary;
  return report;
}

}  // namespace

TEST_SUITE("text") {
  TEST_CASE("identical runs take one line") {
    CHECK(rendered(test::identical_report()) == "IDENTICAL: 412,350 events, 50 steps, every bit\n");
  }

  TEST_CASE("nothing is said of the arguments of a module's call") {
    Report report = test::origin_report();
    report.findings.at(0).op = "Linear::forward";
    const std::string text = rendered(report);
    CHECK(contains(text, "identical inputs, different result: the runs diverge in this call"));
    CHECK_FALSE(contains(text, "same inputs and arguments"));
  }

  TEST_CASE("a recording that holds all bytes already is not asked for again") {
    Report report = test::origin_report();
    for (TensorReport& tensor : report.findings.at(0).tensors) tensor.difference.reset();
    report.reference.level = report.candidate.level = "digest";
    const std::string advice = "record both runs with --level full";
    CHECK(contains(rendered(report), advice));
    report.reference.level = report.candidate.level = "full";
    CHECK_FALSE(contains(rendered(report), advice));
  }

  TEST_CASE("every bit is said only where everything was compared") {
    Report report = test::identical_report();
    report.coverage.not_compared.uninitialised = 812;
    CHECK(rendered(report) ==
          "IDENTICAL: 412,350 events, 50 steps, every value that was compared (not compared: 812 "
          "uninitialized)\n");
    report = test::identical_report();
    report.coverage.outcomes_recorded = false;
    CHECK(contains(rendered(report), "every value that was compared (what the runs left"));
    report = test::identical_report();
    report.coverage.unseen = {"compared by layers"};
    CHECK(contains(rendered(report), "every value that was compared\n"));
  }

  TEST_CASE("exit codes that differ are in the sentence, and with the runs") {
    Report report = test::identical_report();
    report.environment.push_back({"program.exit_code", "0", "3", false, {}});
    const std::string text = rendered(report);
    CHECK(lines(text).at(0) ==
          "IDENTICAL: 412,350 events, 50 steps, every bit; the exit codes are 0 and 3");
    CHECK(contains(text, ", exit code 0\n"));
    CHECK(contains(text, ", exit code 3\n"));
    CHECK_FALSE(contains(text, "ulpscope env"));
  }

  TEST_CASE("an argument inside of a module that differs is said once") {
    Report report = test::origin_report();
    report.findings.at(0).meaning = "aten::layer_norm has eps 1e-05 and 1e-06";
    report.findings.at(0).arguments = {{"eps", "1e-05", "1e-06"}};
    report.causes = {{"argument", Confidence::certain, 0, {"eps is 1e-05 and 1e-06"}, {}, {}}};
    CHECK(contains(lines(rendered(report, {.width = 300})).at(0),
                   "aten::layer_norm has eps 1e-05 and 1e-06; cause: argument (certain)"));
    CHECK_FALSE(contains(lines(rendered(report, {.width = 300})).at(0), "eps is"));
  }

  TEST_CASE("where what happens is not why, the sentence says why") {
    Report report = test::origin_report();
    report.findings.at(0).kind = FindingKind::rng;
    report.causes = {{"rng-shift", Confidence::certain, 0, {"only the candidate drew"}, {}, {}}};
    CHECK(contains(lines(rendered(report, {.width = 300})).at(0),
                   "cause: rng-shift (certain): only the candidate drew"));
  }

  TEST_CASE("the answer comes first: where, what and why, then how much follows") {
    const std::string text = rendered(test::origin_report(), {.width = 300});
    CHECK(lines(text).at(0) ==
          "DIVERGED at step 17 of 50, backward of layer2.0.conv1 (Conv2d): "
          "aten::mkldnn_convolution_backward produces different bits from identical inputs; cause: "
          "threads (certain): threads.intra_op is 1 in the reference and 2 in the candidate");
    CHECK(lines(text).at(1) ==
          "         1 finding (origin); 198,204 events propagated in steps 17 - 49");
    CHECK(lines(rendered(with_verdict(Verdict::within, "within tolerance: 1 finding"))).at(0) ==
          "WITHIN the tolerance: 1 finding");
    CHECK(lines(rendered(with_verdict(Verdict::inconclusive, "inconclusive: why: this"))).at(0) ==
          "INCONCLUSIVE: why: this");
  }

  TEST_CASE("of several models the one is named that the module belongs to") {
    Report report = test::origin_report();
    report.findings.at(0).root = "Generator";
    report.coverage.roots = 2;
    CHECK(contains(rendered(report, {.width = 300}), "of Generator.layer2.0.conv1 (Conv2d): "));
    report.coverage.roots = 1;
    CHECK_FALSE(contains(rendered(report, {.width = 300}), "Generator.layer2"));
  }

  TEST_CASE("a cause that is not known is not said") {
    Report report = test::origin_report();
    report.causes.at(0).id = "unknown";
    CHECK(lines(rendered(report, {.width = 300})).at(0).ends_with("from identical inputs"));
  }

  TEST_CASE("a divergence in setup has no step") {
    Report report = test::origin_report();
    report.findings.front().step.reset();
    report.findings.front().phase = Phase::setup;
    report.propagated = {};
    CHECK(
        lines(rendered(report)).at(0).starts_with("DIVERGED in setup, layer2.0.conv1 (Conv2d): "));
    CHECK(contains(rendered(report), "event setup/140913"));
  }

  TEST_CASE("findings that share a cause are one block with a line each") {
    Report report = test::origin_report();
    for (const std::uint64_t event : {150000U, 160000U}) {
      report.findings.push_back(report.findings.front());
      report.findings.back().event = {event, event};
      report.causes.push_back(report.causes.front());
      report.causes.back().finding = report.findings.size() - 1;
    }
    const std::string text = rendered(report);
    CHECK(contains(text, "2 further findings with the same cause, threads (certain)\n"));
    CHECK(contains(text, "event 17/150000\n"));
    CHECK(contains(text, "event 17/160000\n"));
    report.causes.back().id = "isa";
    CHECK_FALSE(contains(rendered(report), "further findings"));
  }

  TEST_CASE("a command that differs in an option is shown by that option") {
    Report report = test::origin_report();
    report.reference.command = {"./train", "--threads", "1", "--steps", "3"};
    report.candidate.command = {"./train", "--threads", "2", "--steps", "3"};
    CHECK(contains(rendered(report), "the same command with --threads 2 for --threads 1\n"));
    report.candidate.command = {"./train", "--threads", "1", "--steps", "3", "--deterministic"};
    CHECK(contains(rendered(report), "the same command with --deterministic\n"));
    report.candidate.command = {"./train", "--threads", "1"};
    CHECK(contains(rendered(report), "the same command without --steps 3\n"));
    report.candidate.command = {"./other", "--threads", "1"};
    CHECK(contains(rendered(report), "./other --threads 1\n"));
  }

  TEST_CASE("what an in-place op returns is not listed beside the argument that it modified") {
    Report report = test::origin_report();
    Finding& finding = report.findings.front();
    finding.tensors.push_back(finding.tensors.back());
    finding.tensors.back().role = Role::mutated;
    CHECK(contains(rendered(report), "out 1"));
    finding.op = "aten::mul_";
    CHECK_FALSE(contains(rendered(report), "out 1"));
    CHECK(contains(rendered(report), "mut"));
    finding.tensors.back().difference->differing += 1;
    CHECK(contains(rendered(report), "out 1"));
  }

  TEST_CASE("values of other data have no distance in ULP") {
    Report report = test::origin_report();
    CHECK(contains(rendered(report), "ULP at most"));
    report.findings.front().kind = FindingKind::data;
    report.findings.front().tensors.back().difference->scaled_max = 0.5;
    CHECK_FALSE(contains(rendered(report), "ULP at most"));
    CHECK(contains(rendered(report), "scaled "));
  }

  TEST_CASE("no line is wider than asked for") {
    for (const std::size_t width : {60U, 80U, 100U, 140U}) {
      for (const Report& report : {test::origin_report(), test::arguments_report()}) {
        for (const std::string& line : lines(rendered(report, {.width = width}))) {
          if (contains(line, "try ")) continue;  // a command stays in one piece
          CAPTURE(line);
          CHECK(cli::display_width(line) <= width);
        }
      }
    }
  }

  TEST_CASE("no line ends in blanks") {
    for (const Report& report : {test::origin_report(), test::arguments_report()}) {
      for (const std::string& line : lines(rendered(report))) {
        CAPTURE(line);
        CHECK((line.empty() || line.back() != ' '));
      }
    }
  }

  TEST_CASE("colour only adds") {
    const std::regex escape("\x1b\\[[0-9;]*m");
    for (const Report& report : {test::origin_report(), test::arguments_report()}) {
      const std::string painted = rendered(report, {.width = 100, .color = true});
      CHECK(contains(painted, "\x1b["));
      CHECK(std::regex_replace(painted, escape, "") == rendered(report));
    }
  }

  TEST_CASE("--ascii leaves ASCII only") {
    for (const char c : rendered(test::origin_report(), {.width = 100, .ascii = true})) {
      CHECK(static_cast<unsigned char>(c) < 0x80);
    }
  }

  TEST_CASE("names from a dump cannot steer the terminal") {
    Report report = test::origin_report();
    Finding& finding = report.findings.front();
    finding.module = "m\x1b[2J";
    finding.op = "op\r\n";
    finding.parents = {"\x1b]0;title\x07"};
    finding.notes = {"note\nIDENTICAL"};
    finding.tensors.front().name = "t\b";
    finding.neighbours.front().module = "\x1b[1A";
    finding.arguments = {{"eps\x1b", "\x1b", std::nullopt}};
    report.reference.path = "runs/\x1b[31m";
    report.reference.command = {"./train\x07"};
    report.environment = {{"key\x1b", "\x1b", std::nullopt, true, {}}};
    report.causes.front().attempt = {"rm\x1b"};
    report.coverage.unseen = {"\x1b"};
    for (const char c : rendered(report)) {
      CHECK((static_cast<unsigned char>(c) >= 0x20 || c == '\n'));
    }
    CHECK(contains(rendered(report), "m\\x1b[2J"));
  }

  TEST_CASE("without bytes it says how to get the distance") {
    const std::string text = rendered(test::arguments_report());
    CHECK(contains(text, "x  differs"));
    CHECK(contains(text, "help: record both runs with --level full"));
    CHECK_FALSE(contains(rendered(test::origin_report()), "--level full"));
  }

  TEST_CASE("a NaN, an infinity and a zero's sign are told") {
    Report report = test::origin_report();
    Difference& difference = *report.findings.front().tensors.back().difference;
    difference.nan = {0, 3};
    difference.inf = {1, 0};
    difference.signed_zero = 2;
    const std::string text = rendered(report);
    CHECK(contains(text, "NaN        0 in the reference, 3 in the candidate"));
    CHECK(contains(text, "infinite   1 in the reference, 0 in the candidate"));
    CHECK(contains(text, "zero       2 with a different sign"));
  }

  TEST_CASE("only dimensions with equal indices say where elements differ") {
    Report report = test::origin_report();
    Difference& difference = *report.findings.front().tensors.back().difference;
    difference.axes = {{128, 128, {0, 1, 2, 3, 4, 5, 6, 7}},
                       {64, 1, {17}},
                       {3, 3, {0, 1, 2}},
                       {1200, 1100, {0, 1, 2, 3, 4, 5, 6, 9}}};
    CHECK(
        contains(rendered(report),
                 "where      1 of 64 in dimension 1 (17), 1,100 of 1,200 in dimension 3 (0, 1, 2"));
    difference.axes[1] = {64, 64, {0, 1, 2, 3, 4, 5, 6, 7}};
    difference.axes[3] = {1, 1, {0}};
    CHECK_FALSE(contains(rendered(report), "where "));
  }

  TEST_CASE("growth is told where there is some, losses only where they are known") {
    Report report = test::origin_report();
    CHECK(contains(rendered(report), "loss, reference"));
    for (GrowthPoint& point : report.growth) point.loss.reset();
    CHECK(contains(rendered(report), "growth"));
    CHECK_FALSE(contains(rendered(report), "loss, reference"));
    report.growth.resize(1);
    CHECK_FALSE(contains(rendered(report), "growth"));
  }

  TEST_CASE("the path to the loss has a line for each module") {
    Report report = test::origin_report();
    CHECK_FALSE(contains(rendered(report), "path  "));
    report.path.step = 17;
    report.path.points = {{900, "aten::mm", "fc1", 1.1e-07, 1},
                          {901, "aten::add", "fc2", 1.2e-07, 2},
                          {902, "aten::gelu", "fc2", 1.5e-07, 31},
                          {903, "aten::mse_loss", "", std::nullopt, 4000}};
    const std::string text = rendered(report);
    CAPTURE(text);
    CHECK(contains(text, "path       op of step 17   module    ULP   scaled"));
    CHECK(contains(text, "aten::mm        fc1         1  1.1e-07"));
    CHECK(contains(text, "aten::gelu      fc2        31  1.5e-07"));
    CHECK(contains(text, "aten::mse_loss          4,000"));
    CHECK_FALSE(contains(text, "aten::add "));
    report.path.points.resize(1);
    CHECK_FALSE(contains(rendered(report), "op of step"));
  }

  TEST_CASE("long growth keeps its ends") {
    Report report = test::origin_report();
    report.growth.clear();
    for (std::int64_t step = 100; step < 200; ++step) report.growth.push_back({step, 1.0, 1, {}});
    const std::string text = rendered(report);
    CHECK(contains(text, "100    1"));
    CHECK(contains(text, "103    1"));
    CHECK_FALSE(contains(text, "104    1"));
    CHECK(contains(text, "   …"));
    CHECK_FALSE(contains(text, "195    1"));
    CHECK(contains(text, "196    1"));
    CHECK(contains(text, "199    1"));
  }

  TEST_CASE("inside the tolerance a finding is a note") {
    Report report = test::origin_report();
    report.verdict = Verdict::within;
    CHECK(contains(rendered(report), "note[origin]"));
    CHECK_FALSE(contains(rendered(report), "error["));
  }

  TEST_CASE("several ranks are named") {
    Report report = test::origin_report();
    report.reference.ranks = 4;
    report.findings.front().rank = 2;
    CHECK(contains(rendered(report), "--> rank 2 / step 17 / backward / layer2.0.conv1 (Conv2d)"));
    CHECK(contains(rendered(report), "4 ranks"));
  }

  TEST_CASE("findings beyond the tenth are counted") {
    Report report = test::arguments_report();
    const Finding further = report.findings[1];
    report.findings.insert(report.findings.begin() + 1, 20, further);
    const std::string text = rendered(report);
    CHECK(contains(text, "and 13 further findings: see --format json"));
  }

  TEST_CASE("an op with many tensors shows those that differ and counts the rest") {
    Report report = test::origin_report();
    Finding& finding = report.findings.front();
    const TensorReport equal = finding.tensors.front();
    finding.tensors.insert(finding.tensors.begin(), 200, equal);
    const std::string text = rendered(report);
    CHECK(contains(text, "grad_weight  float32 [128, 64, 3, 3]"));
    CHECK(contains(text, "more tensors, identical"));
  }
}
