#include "cli/render/inspect_json.hpp"

#include <fmt/format.h>

#include <sstream>
#include <utility>

#include "cli/render/event_json.hpp"
#include "cli/render/event_words.hpp"
#include "cli/render/json_documents.hpp"
#include "cli/values/recorded_events.hpp"
#include "compare/model/place.hpp"
#include "compare/report/checks/check.hpp"
#include "compare/report/checks/workers.hpp"

namespace ulpscope::cli {
namespace {

constexpr const char* kLists[] = {"lanes",  "steps",  "settings", "modules",
                                  "checks", "events", "values"};

Json dump_json(const RunInfo& info) {
  return {{"path", info.path},
          {"command", strings(info.command)},
          {"level", info.level},
          {"complete", info.complete},
          {"incomplete", known(info.incomplete_reason)},
          {"notes", strings(info.notes)},
          {"ranks", info.ranks},
          {"steps", integer(info.steps)},
          {"steps_in_run", info.steps_in_run == 0 ? Json(nullptr) : integer(info.steps_in_run)},
          {"events", integer(info.events)},
          {"values", integer(info.values)}};
}

Json lane_json(std::uint32_t rank, const Lane& lane) {
  return {{"rank", rank},
          {"lane", lane.id},
          {"role", role_name(lane.role)},
          {"name", comparison::lane_name(lane)},
          {"thread", lane.thread_name},
          {"created_by", known(lane.created_by)},
          {"events", integer(lane.events)}};
}

Json check_json(const Json& rank, const comparison::Check& check) {
  return {{"rank", rank},
          {"name", check.name},
          {"result", comparison::name(check.result)},
          {"text", check.text},
          {"details", strings(check.details)}};
}

Json parameters_json(const RecordedModule& module) {
  Json parameters = Json::array();
  for (const auto& [name, geometry] : module.parameters)
    parameters.push_back({{"name", name},
                          {"tensor", geometry_json(geometry)},
                          {"gradient", module.gradients.contains(name)}});
  return parameters;
}

Json module_call_json(const ModuleCall& call) {
  return {{"step", step_json(call.step)},
          {"phase", name(call.phase)},
          {"event", integer(call.position)}};
}

}  // namespace

Json inspect_json(const Run& run, Listed listed, Json list) {
  Json document{{"format", "ulpscope-inspect"},
                {"schema_version", 1},
                {"lists", kLists[static_cast<std::size_t>(listed)]},
                {"dump", dump_json(run.info())}};
  for (const char* name : kLists) document[name] = nullptr;
  document[kLists[static_cast<std::size_t>(listed)]] = std::move(list);
  return document;
}

InspectStream::InspectStream(const Run& run, Listed listed, std::ostream& out) : out_(out) {
  // No text of the document has this key's quotation marks.
  const std::string key = fmt::format("\"{}\": [", kLists[static_cast<std::size_t>(listed)]);
  const std::string empty = text_of(inspect_json(run, listed, Json::array()));
  const std::size_t list = empty.find(key) + key.size();
  head_ = empty.substr(0, list);
  tail_ = empty.substr(list);
}

void InspectStream::add(const Json& item) {
  out_ << (begun_ ? "," : head_);
  begun_ = true;
  std::istringstream lines(text_of(item));
  for (std::string line; std::getline(lines, line);) out_ << "\n    " << line;
}

void InspectStream::finish() { out_ << "\n  " << tail_ << std::flush; }

Json lanes_json(const Run& run) {
  Json lanes = Json::array();
  for (const std::uint32_t rank : run.ranks())
    for (const Lane& lane : run.lanes(rank)) lanes.push_back(lane_json(rank, lane));
  return lanes;
}

Json steps_json(const Run& run) {
  return list(count_steps(run), [](const StepCounts& counts) -> Json {
    return {{"rank", counts.rank},
            {"step", step_json(counts.step)},
            {"events", integer(counts.events)},
            {"values", integer(counts.values)}};
  });
}

Json settings_json(const Run& run) {
  Json settings = Json::array();
  for (const std::uint32_t rank : run.ranks())
    for (const EnvironmentEntry& entry : run.environment(rank))
      settings.push_back({{"rank", rank},
                          {"from_step", step_json(entry.step)},
                          {"key", entry.key},
                          {"value", entry.value}});
  return settings;
}

Json checks_json(const Run& run) {
  Json checks = Json::array();
  const auto ranks = run.ranks();
  for (const std::uint32_t rank : ranks)
    for (const comparison::Check& check : comparison::check_rank(run, rank))
      checks.push_back(check_json(rank, check));
  if (ranks.size() > 1) {
    checks.push_back(check_json(nullptr, comparison::check_workers(run)));
    checks.push_back(check_json(nullptr, comparison::check_replicas(run)));
  }
  return checks;
}

Json modules_json(const std::vector<RecordedModule>& modules, Calls calls) {
  return list(modules, [calls](const RecordedModule& module) -> Json {
    return {{"rank", module.rank},
            {"root", module.root},
            {"module", module.path},
            {"type", known(module.type)},
            {"parameters", parameters_json(module)},
            {"calls", integer(std::uint64_t{module.calls.size()})},
            {"called", calls == Calls::listed ? list(module.calls, module_call_json) : Json()}};
  });
}

}  // namespace ulpscope::cli
