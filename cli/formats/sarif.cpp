#include "cli/formats/sarif.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cli/explain/cause_pages.hpp"
#include "cli/formats/finding_words.hpp"
#include "cli/render/json_documents.hpp"
#include "cli/render/json_values.hpp"
#include "cli/render/verdict_text.hpp"
#include "cli/render/wording.hpp"
#include "cli/term/escape.hpp"
#include "cli/version.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::string_view kSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
constexpr std::string_view kUnknownCause = "unknown";

const CausePage* page_of_cause(std::string_view cause) {
  const auto pages = cause_pages();
  const auto page = std::find_if(pages.begin(), pages.end(),
                                 [cause](const CausePage& one) { return one.id == cause; });
  return page == pages.end() ? nullptr : &*page;
}

std::string rule_id(const Report& report, std::size_t finding) {
  const Cause* const cause = first_cause(report, finding);
  return escaped(cause == nullptr ? kUnknownCause : std::string_view(cause->id));
}

/// Of all findings, in the order of the first with each.
std::vector<std::string> rule_ids(const Report& report) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    std::string id = rule_id(report, i);
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(std::move(id));
  }
  return ids;
}

Json cause_rule(const std::string& id) {
  Json rule = {{"id", id}};
  if (const CausePage* const page = page_of_cause(id)) {
    rule["shortDescription"] = {{"text", title(*page)}};
    rule["fullDescription"] = {{"text", section(*page, "What it is")}};
    rule["help"] = {{"text", page->text}, {"markdown", page->text}};
  }
  return rule;
}

/// A reference to a file relative to the repository's root, whatever characters it has.
std::string relative_uri(std::string_view file) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  file.remove_prefix(std::min(file.find_first_not_of('/'), file.size()));
  std::string uri;
  for (const char c : file)
    uri += kPlain.find(c) == kPlain.npos ? fmt::format("%{:02X}", static_cast<unsigned char>(c))
                                         : std::string(1, c);
  return uri;
}

Json logical_location(const std::string& name, std::string_view kind) {
  return {{"fullyQualifiedName", name}, {"kind", kind}};
}

Json finding_locations(const Finding& finding, const Report& report) {
  Json location = Json::object();
  if (const auto line = source_line(finding)) {
    Json region = {{"startLine", line->line}};
    if (!finding.source.empty()) region["snippet"] = {{"text", escaped(finding.source)}};
    location["physicalLocation"] = {
        {"artifactLocation", {{"uri", relative_uri(line->file)}, {"uriBaseId", "%SRCROOT%"}}},
        {"region", std::move(region)}};
  }
  Json logical = Json::array();
  if (finding.module) logical.push_back(logical_location(module_place(finding, report), "module"));
  if (!finding.op.empty()) logical.push_back(logical_location(op_name(finding), "function"));
  if (!logical.empty()) location["logicalLocations"] = std::move(logical);
  return location.empty() ? Json::array() : Json::array({std::move(location)});
}

Json finding_properties(const Report& report, std::size_t index) {
  const Finding& finding = report.findings[index];
  const auto event = [](const std::optional<std::uint64_t>& number) {
    return number ? integer(*number) : Json();
  };
  Json properties = {{"kind", name(finding.kind)},
                     {"diverges", finding.diverges},
                     {"rank", finding.rank},
                     {"step", finding.step ? integer(*finding.step) : Json()},
                     {"phase", name(finding.phase)},
                     {"event",
                      {{"reference", event(finding.event.reference)},
                       {"candidate", event(finding.event.candidate)}}}};
  if (const TensorReport* const tensor = farthest_tensor(finding)) {
    const Difference& difference = *tensor->difference;
    properties["tensor"] = slot_title(*tensor);
    properties["elements"] = integer(difference.elements);
    properties["differing"] = integer(difference.differing);
    properties["ulp_max"] = integer(difference.ulp_max);
    properties["absolute_max"] = real(difference.absolute_max);
    properties["scaled_max"] = difference.scaled_max ? real(*difference.scaled_max) : Json();
  }
  if (const Cause* const cause = first_cause(report, index))
    properties["confidence"] = name(cause->confidence);
  return properties;
}

Json finding_result(const Report& report, std::size_t index,
                    const std::vector<std::string>& rules) {
  const Finding& finding = report.findings[index];
  const std::string rule = rule_id(report, index);
  Json result = {{"ruleId", rule},
                 {"ruleIndex", std::find(rules.begin(), rules.end(), rule) - rules.begin()},
                 {"level", is_error(report, finding) ? "error" : "note"},
                 {"message", {{"text", finding_sentence(report, index)}}}};
  Json locations = finding_locations(finding, report);
  if (!locations.empty()) result["locations"] = std::move(locations);
  result["properties"] = finding_properties(report, index);
  return result;
}

Json this_invocation(const Report& report) {
  const VerdictWords words = verdict_words(report);
  const bool conclusive = report.verdict != Verdict::inconclusive;
  Json invocation = {{"executionSuccessful", conclusive}};
  if (!conclusive)
    invocation["toolExecutionNotifications"] = Json::array(
        {{{"level", "error"},
          {"message", {{"text", fmt::format("{} {}", words.verdict, words.sentence)}}}}});
  return invocation;
}

}  // namespace

void render_sarif(const Report& report, std::ostream& out) {
  const std::vector<std::string> ids = rule_ids(report);
  Json rules = Json::array();
  for (const std::string& id : ids) rules.push_back(cause_rule(id));
  Json results = Json::array();
  for (std::size_t i = 0; i < report.findings.size(); ++i)
    results.push_back(finding_result(report, i, ids));
  const VerdictWords words = verdict_words(report);
  const Json run = {{"tool",
                     {{"driver",
                       {{"name", "ulpscope"},
                        {"version", kVersion},
                        {"semanticVersion", kVersion},
                        {"rules", std::move(rules)}}}}},
                    {"invocations", Json::array({this_invocation(report)})},
                    {"results", std::move(results)},
                    {"properties",
                     {{"verdict", name(report.verdict)},
                      {"summary", fmt::format("{} {}", words.verdict, words.sentence)},
                      {"reference", escaped(report.reference.path)},
                      {"candidate", escaped(report.candidate.path)}}}};
  out << text_of({{"$schema", kSchema}, {"version", "2.1.0"}, {"runs", Json::array({run})}});
}

}  // namespace ulpscope::cli
