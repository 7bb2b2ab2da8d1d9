#include "compare/experiment/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compare/experiment/mechanism.hpp"
#include "core/counts.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison::experiment {
namespace {

/// The float64 results of a part and of the whole batch are as near as this, relative to the
/// largest number, if rows do not depend on each other.
constexpr double kSameRows = 1e-9;

[[nodiscard]] bool is_as_recorded(const ReplayVariant& variant) {
  return variant.factor == ReplayFactor::none || variant.factor == ReplayFactor::other_run;
}

}  // namespace

Experiment::Experiment(std::vector<OpCall> calls, const ReplayerFactory& factory,
                       const ReplayOptions& options, ReplayReport& report)
    : calls_(std::move(calls)), processes_(factory), options_(options), report_(report) {}

void Experiment::run() {
  report_.base = can_replay(0) ? 0 : calls_.size() - 1;
  if (!can_replay(report_.base)) return;
  replay_as_recorded();
  prove();
  if (any_proved() && !report_.runs[report_.base].proved()) {
    // Changes are made to a run that gives its recorded bits.
    report_.base = 1 - report_.base;
    replay_as_recorded();
  }
  measure_truth();
  if (any_proved()) replay_changed();
}

bool Experiment::results_equal() const {
  return calls_.size() == 2 && !calls_[0].recorded.empty() &&
         same_bits(calls_[0].recorded, calls_[1].recorded);
}

bool Experiment::results_known() const {
  return std::none_of(calls_.begin(), calls_.end(),
                      [](const OpCall& call) { return call.recorded.empty(); });
}

bool Experiment::any_proved() const {
  return std::any_of(report_.runs.begin(), report_.runs.end(),
                     [](const ReplayedRun& run) { return run.proved(); });
}

Plan Experiment::plan() const {
  const bool two = calls_.size() == 2;
  const bool has_other = two && can_replay(1 - report_.base);
  return {.base = calls_[report_.base],
          .other = has_other ? &calls_[1 - report_.base] : nullptr,
          .same_inputs = same_inputs(),
          .rows = rows_,
          .capability = capability_,
          .base_name = two ? letter(report_.base) : "",
          .other_name = two ? letter(1 - report_.base) : ""};
}

void Experiment::measure_truth() {
  truth_[report_.base] = in_float64(report_.base, 0);
  for (std::size_t run = 0; run < calls_.size(); ++run) {
    if (run != report_.base && same_inputs())
      truth_[run] = truth_[report_.base];
    else if (run != report_.base && can_replay(run))
      truth_[run] = in_float64(run, 0);
    if (!truth_[run].empty())
      report_.runs[run].distance = true_distance(calls_[run].recorded, truth_[run]);
  }
  for (std::size_t row = 0; row < report_.variants.size(); ++row)
    if (!truth_[report_.base].empty())
      report_.variants[row].distance =
          true_distance(first_[row][report_.base], truth_[report_.base]);
}

void Experiment::replay_as_recorded() {
  report_.variants.clear();
  first_.clear();
  for (Trial& trial : trials_as_recorded(plan(), options_)) add(trial);
}

/// Each run in its own conditions.
void Experiment::prove() {
  for (std::size_t run = 0; run < calls_.size(); ++run) {
    if (!can_replay(run)) continue;
    const std::size_t row = run == report_.base ? 0 : report_.variants.size() - 1;
    const ReplayVariant& variant = report_.variants[row];
    if (!variant.failure.empty())
      report_.runs[run].failure = variant.failure + missing_library(variant.failure);
    else if (variant.same_as[run].value_or(0) == 0)
      report_.runs[run].failure = other_bits(run, row);
  }
}

/// What to do about an op that LibTorch does not have.
std::string Experiment::missing_library(const std::string& failure) const {
  const bool unknown = failure == "LibTorch has no such op" &&
                       !facts::is_of_libtorch(calls_[report_.base].request.op);
  return unknown ? "; --load takes the library that registers it" : "";
}

std::string Experiment::other_bits(std::size_t run, std::size_t row) const {
  const Results& replayed = first_[row][run];
  const std::string how = replayed.empty() ? "" : difference_words(calls_[run].recorded, replayed);
  return fmt::format("replayed as it was recorded, it has other bits{}",
                     how.empty() ? "" : fmt::format(" ({})", how));
}

void Experiment::replay_changed() {
  mark_rows_of_all();
  for (Trial& trial : trials_with_changes(plan(), options_))
    if (trial.variant.factor != ReplayFactor::rows || rows_are_apart()) add(trial);
}

void Experiment::mark_rows_of_all() {
  if (truth_[report_.base].empty()) return;
  rows_ = mark_rows(calls_[report_.base]);
  for (OpCall& call : calls_)
    if (!call.recorded.empty() && mark_rows(call) != rows_) rows_ = 0;
  for (std::size_t run = 0; run < calls_.size(); ++run)
    for (std::size_t k = 0; k < truth_[run].size() && k < calls_[run].recorded.size(); ++k)
      truth_[run][k].has_rows = calls_[run].recorded[k].has_rows;
}

/// The op in float64; empty if LibTorch does not do that.
Results Experiment::in_float64(std::size_t run, std::int64_t rows) {
  ReplayRequest request = calls_[run].request;
  request.precision = Precision::float64;
  request.conditions = {};
  request.conditions.first_rows = rows;
  ReplayAnswer answer = processes_.replay(calls_[report_.base].start, request);
  if (!answer.failure.empty() && rows == 0)
    report_.notes.push_back(fmt::format("float64 is not known: {}", answer.failure));
  return answer.failure.empty() ? std::move(answer.results) : Results{};
}

/// Whether a row's result does not depend on the other rows.
bool Experiment::rows_are_apart() {
  const Results part = first_rows(in_float64(report_.base, rows_ / 2), rows_ / 2);
  const auto apart = true_distance(part, first_rows(truth_[report_.base], rows_ / 2));
  return apart && apart->nan == 0 && apart->scaled_max < kSameRows;
}

/// What of whole results a variant computes.
Results Experiment::part_of(const Results& results, const ReplayVariant& variant) const {
  return variant.factor == ReplayFactor::rows ? first_rows(results, rows_ / 2) : results;
}

ReplayRequest Experiment::request_of(const Trial& trial, std::size_t run) const {
  ReplayRequest request = calls_[run].request;
  request.conditions = calls_[report_.base].request.conditions;
  trial.change(request);
  return request;
}

/// For whoever wants to replay the same.
void Experiment::keep_conditions(ReplayVariant& variant, const ReplayRequest& request) {
  variant.conditions = request.conditions;
  variant.inputs = request.inputs;
  for (ReplayTensor& input : variant.inputs) input.bytes.clear();
}

/// Replays the inputs of one run.
Repeats Experiment::take(Trial& trial, std::size_t run) {
  ReplayVariant& variant = trial.variant;
  const ReplayRequest request = request_of(trial, run);
  if (run == report_.base || same_inputs()) keep_conditions(variant, request);
  Repeats repeats = processes_.repeat(trial.start, request, variant.repeats);
  if (variant.failure.empty()) variant.failure = repeats.failure;
  variant.results = std::max(variant.results, static_cast<unsigned>(repeats.results.size()));
  if (variant.factor == ReplayFactor::none) capability_ = repeats.capability;
  torch_version_ = repeats.torch_version;
  for (Results& results : repeats.results) results = part_of(results, variant);
  const bool of_base = run == report_.base || same_inputs();
  if (of_base && repeats.failure.empty() && !truth_[report_.base].empty())
    variant.distance =
        true_distance(repeats.results.front(), part_of(truth_[report_.base], variant));
  return repeats;
}

/// A kernel that is called with a layout it does not expect can read beside its inputs.
void Experiment::refuse_layout(ReplayVariant& variant) const {
  constexpr double kTooMuch = 0.01;
  constexpr double kTimes = 1000;
  const auto& recorded = report_.runs[report_.base].distance;
  const bool is_a_runs = variant.same_as[0].value_or(0) > 0 || variant.same_as[1].value_or(0) > 0;
  if (variant.factor != ReplayFactor::layout || is_a_runs || !recorded || !variant.distance) return;
  const double off = variant.distance->scaled_max;
  if (off > kTooMuch && off > kTimes * recorded->scaled_max)
    variant.failure = fmt::format(
        "the op does not take such inputs: its results are off by {} of the largest number",
        core::short_number(off));
}

void Experiment::compare(ReplayVariant& variant, const Repeats& repeats, std::size_t run) {
  if (is_as_recorded(variant) && !repeats.results.empty())
    first_.back()[run] = repeats.results.front();
  if (repeats.failure.empty() && !calls_[run].recorded.empty())
    variant.same_as[run] = repeats.times_of(part_of(calls_[run].recorded, variant));
}

/// With equal inputs one replay serves both runs; else each run's own inputs are replayed.
void Experiment::add(Trial& trial) {
  if (is_as_recorded(trial.variant)) first_.emplace_back();
  if (same_inputs()) {
    const std::size_t run = trial.with_other_inputs ? 1 - report_.base : report_.base;
    const Repeats repeats = take(trial, run);
    for (std::size_t k = 0; k < calls_.size(); ++k) compare(trial.variant, repeats, k);
  } else {
    for (std::size_t k = 0; k < calls_.size(); ++k)
      if (can_replay(k)) compare(trial.variant, take(trial, k), k);
  }
  refuse_layout(trial.variant);
  trial.variant.start = std::move(trial.start);
  report_.variants.push_back(std::move(trial.variant));
}

}  // namespace ulpscope::comparison::experiment
