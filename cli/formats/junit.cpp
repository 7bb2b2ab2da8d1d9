#include "cli/formats/junit.hpp"

#include <fmt/format.h>

#include <pugixml.hpp>
#include <sstream>
#include <string>

#include "cli/formats/finding_words.hpp"
#include "cli/render/finding_text.hpp"
#include "cli/render/text.hpp"
#include "cli/render/verdict_text.hpp"
#include "cli/render/wording.hpp"
#include "cli/term/escape.hpp"

namespace ulpscope::cli {
namespace {

void set(pugi::xml_node node, const char* name, const std::string& value) {
  node.append_attribute(name) = value.c_str();
}

pugi::xml_node add_case(pugi::xml_node suite, const char* group, const std::string& name) {
  pugi::xml_node test = suite.append_child("testcase");
  set(test, "classname", group);
  set(test, "name", name);
  return test;
}

/// @param element "failure" or "error".
void fail(pugi::xml_node test, const char* element, const std::string& message,
          const std::string& type, const std::string& text) {
  pugi::xml_node failure = test.append_child(element);
  set(failure, "message", message);
  set(failure, "type", type);
  failure.append_child(pugi::node_pcdata).set_value(text.c_str());
}

std::string whole_text(const Report& report) {
  std::ostringstream text;
  render_text(report, {}, text);
  return text.str();
}

std::string text_of_finding(const Report& report, std::size_t index) {
  Page page{Terminal{}};
  render_further_finding(report, index, page);
  return page.text();
}

void add_verdict(const Report& report, pugi::xml_node suite) {
  pugi::xml_node test = add_case(
      suite, "ulpscope.compare",
      fmt::format("{} and {}", escaped(report.reference.path), escaped(report.candidate.path)));
  const VerdictWords words = verdict_words(report);
  const std::string sentence = fmt::format("{} {}", words.verdict, words.sentence);
  const std::string verdict(name(report.verdict));
  switch (report.verdict) {
    case Verdict::identical:
    case Verdict::within:
      test.append_child("system-out").append_child(pugi::node_pcdata).set_value(sentence.c_str());
      return;
    case Verdict::diverged:
      return fail(test, "failure", sentence, verdict, whole_text(report));
    case Verdict::inconclusive:
      return fail(test, "error", sentence, verdict, whole_text(report));
  }
}

void add_finding(const Report& report, std::size_t index, pugi::xml_node suite) {
  const Finding& finding = report.findings[index];
  std::string title = place(finding, report);
  for (const std::string& part : {op_name(finding), event_numbers(finding)})
    if (!part.empty()) title += fmt::format(" / {}", part);
  pugi::xml_node test = add_case(suite, "ulpscope.finding", title);
  if (const auto line = source_line(finding)) {
    set(test, "file", line->file);
    set(test, "line", fmt::format("{}", line->line));
  }
  if (is_error(report, finding))
    fail(test, "failure", finding_sentence(report, index), std::string(name(finding.kind)),
         text_of_finding(report, index));
}

void count(pugi::xml_node suite, pugi::xml_node into) {
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t errors = 0;
  for (const pugi::xml_node& test : suite.children("testcase")) {
    ++tests;
    if (test.child("failure")) ++failures;
    if (test.child("error")) ++errors;
  }
  set(into, "name", "ulpscope");
  set(into, "tests", fmt::format("{}", tests));
  set(into, "failures", fmt::format("{}", failures));
  set(into, "errors", fmt::format("{}", errors));
}

}  // namespace

void render_junit(const Report& report, std::ostream& out) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  set(declaration, "version", "1.0");
  set(declaration, "encoding", "UTF-8");
  pugi::xml_node suites = document.append_child("testsuites");
  pugi::xml_node suite = suites.append_child("testsuite");
  add_verdict(report, suite);
  for (std::size_t i = 0; i < report.findings.size(); ++i)
    if (report.findings[i].diverges) add_finding(report, i, suite);
  count(suite, suites);
  count(suite, suite);
  document.save(out, "  ");
}

}  // namespace ulpscope::cli
