#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "compare/experiment/experiment.hpp"
#include "compare/experiment/mechanism.hpp"
#include "compare/experiment/op_call.hpp"
#include "compare/measure/recorded_call.hpp"
#include "ulpscope/error.hpp"
#include "ulpscope/replay_report.hpp"

namespace ulpscope {
namespace {

using namespace comparison::experiment;

void require_same_op(const OpCall& a, const OpCall& b) {
  if (full_name(a.event()) == full_name(b.event())) return;
  throw Error(ErrorCode::usage,
              fmt::format("the events are different ops, {} and {}", full_name(a.event()),
                          full_name(b.event())),
              "--with-event names the second run's event");
}

[[nodiscard]] ReplayedRun run_of(const Run& run, const RecordedPlace& place, const OpCall& call) {
  ReplayedRun told;
  told.path = run.info().path;
  told.step = call.step;
  told.place = place;
  told.settings = settings_words(run, place, call);
  told.failure = call.failure;
  told.lacks_bytes = call.lacks_bytes;
  return told;
}

/// A setting of the recording that this machine does not restore.
void note_other_setting(const Run& run, std::size_t number, std::string_view key,
                        std::string_view words, const std::string& replayed, ReplayReport& report) {
  const ReplayedRun& told = report.runs[number];
  const std::string recorded = comparison::setting(run, told.place.rank, told.step, key);
  if (!recorded.empty() && !replayed.empty() && recorded != replayed)
    report.notes.push_back(fmt::format("{} was recorded with {} {} and is replayed with {}",
                                       letter(number), words, recorded, replayed));
}

}  // namespace

ReplayReport explain(const Run& a, const RecordedPlace& place, const Run* b,
                     const RecordedPlace& place_b, const ReplayerFactory& factory,
                     const ReplayOptions& options) {
  ReplayReport report;
  std::vector<OpCall> calls{op_call(a, place, options)};
  report.op = full_name(calls[0].event());
  report.runs.push_back(run_of(a, place, calls[0]));
  if (b != nullptr) {
    calls.push_back(op_call(*b, place_b, options));
    require_same_op(calls[0], calls[1]);
    report.runs.push_back(run_of(*b, place_b, calls[1]));
    report.unequal = unequal_arguments(calls[0], calls[1]);
  }
  Experiment experiment(std::move(calls), factory, options, report);
  experiment.run();
  const auto run = [&](std::size_t number) -> const Run& { return number == 0 ? a : *b; };
  for (std::size_t k = 0; k < report.runs.size(); ++k)
    note_other_setting(run(k), k, "torch.version", "LibTorch", experiment.torch_version(), report);
  note_other_setting(run(report.base), report.base, "cpu.capability", "ATen capability",
                     experiment.capability(), report);
  name_mechanism(report, {experiment.results_equal(), experiment.results_known()});
  return report;
}

}  // namespace ulpscope
