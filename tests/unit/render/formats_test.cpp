#include "cli/formats/formats.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "cli/formats/finding_words.hpp"
#include "cli/formats/markdown_text.hpp"
#include "tests/unit/render/sample_reports.hpp"

using namespace ulpscope;

namespace {

std::string rendered(const Report& report, std::string_view format) {
  std::ostringstream out;
  const cli::ReportFormat* const found = cli::find_format(format);
  REQUIRE(found != nullptr);
  found->render(report, {}, out);
  return out.str();
}

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t times = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++times;
  return times;
}

/// Everything in it is long, and there is much of it.
Report endless_report() {
  const std::string name(20'000, '`');
  Report report = test::origin_report();
  Finding& first = report.findings.front();
  first.op = first.module.emplace(name);
  first.where = first.source = name;
  first.arguments = {{name, name, name}};
  report.causes.front().evidence.assign(100, name);
  report.environment.assign(100, {name, name, name, true, {}});
  report.golden = GoldenConditions{report.environment};
  report.reference.path = report.candidate.path = name;
  report.findings.assign(1000, first);
  report.findings.front().arguments.assign(100, {name, name, name});
  return report;
}

}  // namespace

TEST_SUITE("formats") {
  TEST_CASE("Markdown fits into a comment, whatever the report is like") {
    const std::string text = rendered(endless_report(), "markdown");
    CHECK(text.size() <= 60'000);
    CHECK(text.ends_with("</pre>\n\n</details>\n"));
    CHECK(count(text, "\n| origin |") == 10);
  }

  TEST_CASE("GitHub gets as many annotations as it shows") {
    const std::string text = rendered(endless_report(), "github");
    CHECK(count(text, "::error ") == 9);
    CHECK(count(text, "::notice ") == 1);
    CHECK(text.find("991 further findings") != text.npos);
  }

  TEST_CASE("an annotation has the finding's line, its characters encoded") {
    Report report = test::origin_report();
    report.findings.front().where = "a%b:c,d.py:7";
    CHECK(rendered(report, "github")
              .starts_with("::error file=a%25b%3Ac%2Cd.py,line=7,title=ulpscope%3A diverged::"));
  }

  TEST_CASE("an annotation and a SARIF result name the file by its path where it is known") {
    Report report = test::origin_report();
    report.findings.front().where = "net.py:7";
    report.findings.front().file = "src/models/net.py";
    CHECK(rendered(report, "github").starts_with("::error file=src/models/net.py,line=7,"));
    CHECK(rendered(report, "sarif").find(R"("uri": "src/models/net.py")") != std::string::npos);
  }

  TEST_CASE("a place in a program has a file and a line") {
    const auto line = cli::source_line("train.py:41");
    REQUIRE(line);
    CHECK(line->file == "train.py");
    CHECK(line->line == 41);
    for (const char* where : {"", "train.py", "train.py:", ":41", "train.py:0", "train.py:-1",
                              "train.py:41x", "train.py:4294967297", "libtrain.so+0x41"}) {
      CAPTURE(where);
      CHECK_FALSE(cli::source_line(where));
    }
  }

  TEST_CASE("names stay names in Markdown") {
    CHECK(cli::markdown_code("aten::mul_") == "`aten::mul_`");
    CHECK(cli::markdown_code("a`b") == "`` a`b ``");
    CHECK(cli::markdown_code("a|b\\|c") == "`a\\|b\\\\x7cc`");
    CHECK(cli::markdown_code("a\nb") == "`a\\x0ab`");
    CHECK(cli::markdown_prose("aten::mul_ <b>") == "aten::mul\\_ \\<b\\>");
    CHECK(cli::markdown_prose("by @someone") == "`by @someone`");
    CHECK(cli::markdown_prose("see https://x.example") == "`see https://x.example`");
  }

  TEST_CASE("within a tolerance a finding is no error") {
    Report report = test::origin_report();
    CHECK(count(rendered(report, "junit"), "<failure") == 2);
    CHECK(count(rendered(report, "sarif"), "\"level\": \"error\"") == 1);
    report.verdict = Verdict::within;
    report.summary = "within tolerance: 1 finding";
    CHECK(count(rendered(report, "junit"), "<failure") == 0);
    CHECK(count(rendered(report, "sarif"), "\"level\": \"error\"") == 0);
    CHECK(count(rendered(report, "github"), "::error") == 0);
  }

  TEST_CASE("a place that is no relative path becomes one") {
    Report report = test::origin_report();
    struct Case {
      std::string where, uri;
    };
    for (const Case& one :
         {Case{"javascript:alert(1).py:3", "javascript%3Aalert%281%29.py"},
          Case{"//evil.example/a.py:3", "evil.example/a.py"}, Case{"a b.py:3", "a%20b.py"}}) {
      report.findings.front().where = one.where;
      CAPTURE(one.where);
      CHECK(count(rendered(report, "sarif"), "\"uri\": \"" + one.uri + "\"") == 1);
    }
  }
}
