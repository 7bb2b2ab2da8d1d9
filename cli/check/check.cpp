#include "cli/check/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "cli/check/dump_folder.hpp"
#include "cli/check/interruption.hpp"
#include "cli/inputs/open_run.hpp"
#include "cli/replay/explanation.hpp"
#include "core/counts.hpp"
#include "ulpscope/compare.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kRunsIfNotGiven = 5;
constexpr std::size_t kRunsOfEachVariant = 2;
constexpr int kRounds = 3;  ///< a difference that moves to another op is followed so often
constexpr std::size_t kLongestOps = 500;
constexpr std::uint64_t kSpareRoom = std::uint64_t{64} << 20;

/// Whether all that is to be known of the first finding is.
bool is_complete(const Report& report) {
  const Finding* const first = report.first();
  if (first == nullptr) return true;
  return std::none_of(first->tensors.begin(), first->tensors.end(), [](const TensorReport& tensor) {
    return !tensor.equal && !tensor.difference && tensor.shape.reference == tensor.shape.candidate;
  });
}

/// Whether the same place of the program is among some findings.
bool is_among(const Finding& finding, const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& known) {
    return known.diverges && known.kind == finding.kind && known.op == finding.op &&
           known.phase == finding.phase && known.root == finding.root &&
           known.module == finding.module && known.step == finding.step;
  });
}

/// Which bytes explain the findings of a comparison: the ops of those in the first one's step.
class Window {
 public:
  void add(const Report& report) {
    const Finding* const first = report.first();
    if (first == nullptr) return;
    if (first->step) {
      first_ = std::min(first_, *first->step);
      last_ = std::max(last_, *first->step);
    }
    for (const Finding& finding : report.findings) {
      if (!finding.diverges || finding.step != first->step) continue;
      if (length_ + finding.op.size() + 1 > kLongestOps) return;
      if (ops_.insert(finding.op).second) length_ += finding.op.size() + 1;
    }
  }

  [[nodiscard]] std::vector<std::string> record_options() const {
    std::vector<std::string> options{
        "--level", "full", "--stacks", "--full-steps",
        last_ == kSetup ? "setup" : fmt::format("{}-{}", first_, last_)};
    for (const std::string& op : ops_) options.insert(options.end(), {"--full-ops", op});
    return options;
  }

 private:
  std::int64_t first_ = kNoEnd;
  std::int64_t last_ = kSetup;
  std::set<std::string> ops_;
  std::size_t length_ = 0;
};

class Checker {
 public:
  Checker(const CheckOptions& options, const RunMaker::Watch& watch)
      : options_(options),
        watch_(watch),
        maker_(options.run, [this](const std::string& what, auto since) { show(what, since); }),
        folder_(options.directory,
                "check-" + fs::path(options.variants.front().command.front()).filename().string()) {
  }

  CheckReport run();

 private:
  [[nodiscard]] Report compared(std::size_t reference, std::size_t candidate);
  void show(const std::string& what, std::chrono::duration<double> since) const;
  void enter(MadeRun run, std::size_t variant, bool recorded, bool with_bytes);

  [[nodiscard]] bool may_go_on();
  void require_room() const;
  /// The run's number, 0 if none was made.
  std::size_t record(std::size_t variant, const std::vector<std::string>& record_options);
  std::size_t record_apart(std::size_t variant, const std::vector<std::string>& record_options);
  void remove_if_not_needed(std::size_t run);

  void run_bare();
  void run_recorded();
  void explain();
  void replay(std::size_t reference, std::size_t candidate);
  void find_all_origins();
  void observe_runs();
  void try_lighter_captures();
  bool try_capture(const std::vector<std::string>& record_options);
  [[nodiscard]] Rate rate_of_runs() const;
  void conclude();
  void note_exit_codes();
  void note_settings_without_effect();
  void note_variants();
  void keep_what_explains();
  [[nodiscard]] std::vector<const MadeRun*> runs_of_first_variant(bool recorded) const;
  [[nodiscard]] Verdict verdict() const;

  [[nodiscard]] bool differ() const { return groups_.groups().size() > 1; }
  [[nodiscard]] const MadeRun& made(std::size_t number) const { return made_.at(number - 1); }
  [[nodiscard]] std::size_t variant_of(std::size_t number) const {
    return variants_.at(number - 1);
  }
  [[nodiscard]] std::size_t planned() const;

  const CheckOptions& options_;
  RunMaker::Watch watch_;
  RunMaker maker_;
  DumpFolder folder_;
  RunGroups groups_{[this](auto a, auto b) { return compared(a, b); }};
  std::deque<MadeRun> made_;                    ///< by number - 1
  std::vector<std::size_t> variants_;           ///< of each
  std::set<std::size_t> kept_;                  ///< runs whose dumps are there
  std::set<std::size_t> explains_;              ///< the two of the report's comparison
  std::set<std::string> settings_that_differ_;  ///< between runs of different variants
  std::optional<Report> equal_;                 ///< the latest comparison of two equal runs
  bool stopped_ = false;                        ///< at a limit
  CheckReport report_;
  const Clock::time_point start_ = Clock::now();
};

Report Checker::compared(std::size_t reference, std::size_t candidate) {
  const auto a = open_run(made(reference).dump.string());
  const auto b = open_run(made(candidate).dump.string());
  CompareOptions options;
  options.any_exit_code = true;  // a note says how all runs have ended
  Report report = compare(*a, *b, options);
  if (report.verdict == Verdict::identical) equal_ = report;
  if (variant_of(reference) != variant_of(candidate))
    for (const EnvironmentDifference& difference : report.environment)
      settings_that_differ_.insert(difference.key);
  return report;
}

std::size_t Checker::planned() const {
  if (options_.runs != 0) return options_.runs;
  return options_.variants.size() > 1 ? kRunsOfEachVariant * options_.variants.size()
                                      : kRunsIfNotGiven;
}

void Checker::show(const std::string& what, std::chrono::duration<double> since) const {
  std::string text = what;
  if (!made_.empty()) {
    const double usual = made_.back().took.count();
    const double left = usual - since.count();
    if (left > 0) text += fmt::format(", {:.0f} s left of this run", left);
  }
  watch_(text, since);
}

void Checker::enter(MadeRun run, std::size_t variant, bool recorded, bool with_bytes) {
  report_.runs.push_back({run.number, options_.variants[variant].label, recorded, with_bytes,
                          run.exit_code, run.took, std::nullopt});
  made_.push_back(std::move(run));
  variants_.push_back(variant);
}

bool Checker::may_go_on() {
  if (interrupted() != 0) {
    report_.interrupted = true;
    return false;
  }
  const auto stop = [&](const std::string& why) {
    if (!stopped_) report_.notes.push_back(why);
    stopped_ = true;
    return false;
  };
  if (made_.size() >= options_.max_runs)
    return stop(fmt::format("stopped after {} (--max-runs)", core::counted(made_.size(), "run")));
  if (options_.max_time.count() > 0 && Clock::now() - start_ > options_.max_time)
    return stop(
        fmt::format("stopped after {} (--max-time)", core::duration(Clock::now() - start_)));
  const std::uint64_t next = made_.empty() ? 0 : made_.back().bytes_on_disk;
  if (folder_.bytes() + next > options_.max_bytes)
    return stop(fmt::format("stopped because another dump would take more than {} (--max-bytes)",
                            core::byte_size(options_.max_bytes)));
  require_room();
  return true;
}

void Checker::require_room() const {
  std::uint64_t largest = 0;
  for (const MadeRun& run : made_) largest = std::max(largest, run.bytes_on_disk);
  if (folder_.room() >= largest + kSpareRoom) return;
  throw Error(ErrorCode::io,
              fmt::format("the disk has {} left, and a dump takes {}",
                          core::byte_size(folder_.room()), core::byte_size(largest)),
              "make room, or choose a directory on another disk with -o");
}

void Checker::run_bare() {
  if (!options_.variants.front().record_options.empty()) return;
  for (std::size_t i = 0; i < options_.bare_runs && may_go_on(); ++i)
    enter(maker_.bare(options_.variants.front()), 0, /*recorded=*/false, /*with_bytes=*/false);
}

std::size_t Checker::record(std::size_t variant, const std::vector<std::string>& record_options) {
  if (!may_go_on()) return 0;
  const std::size_t number = made_.size() + 1;
  MadeRun run =
      maker_.recorded(options_.variants[variant], folder_.dump_of(number), record_options);
  if (interrupted() != 0) {
    folder_.remove(number);
    report_.interrupted = true;
    return 0;
  }
  enter(std::move(run), variant, /*recorded=*/true, !record_options.empty());
  kept_.insert(number);
  report_.runs.back().group = groups_.add(number);
  return number;
}

/// The same for a run whose results do not count.
std::size_t Checker::record_apart(std::size_t variant,
                                  const std::vector<std::string>& record_options) {
  if (!may_go_on()) return 0;
  const std::size_t number = made_.size() + 1;
  MadeRun run =
      maker_.recorded(options_.variants[variant], folder_.dump_of(number), record_options);
  enter(std::move(run), variant, /*recorded=*/false, /*with_bytes=*/false);
  report_.runs.back().recorded = true;
  kept_.insert(number);
  if (interrupted() == 0) return number;
  report_.interrupted = true;
  return 0;
}

void Checker::remove_if_not_needed(std::size_t run) {
  const auto& groups = groups_.groups();
  const bool represents = std::any_of(groups.begin(), groups.end(), [&](const RunGroup& group) {
    return group.runs.front() == run;
  });
  if (represents) return;
  folder_.remove(run);
  kept_.erase(run);
}

void Checker::run_recorded() {
  for (std::size_t i = 0;; ++i) {
    const bool enough = i >= planned();
    if (enough && (!options_.until_differs || differ())) return;
    const bool all_variants = i >= options_.variants.size();
    if (options_.runs == 0 && differ() && all_variants) return;
    const std::size_t number = record(i % options_.variants.size(), {});
    if (number == 0) return;
    remove_if_not_needed(number);
  }
}

/// Records both sides of the first difference again, with the bytes that explain it.
void Checker::explain() {
  std::size_t other = 1;
  while (other + 1 < groups_.groups().size() &&
         groups_.between(0, other).verdict != Verdict::diverged)
    ++other;
  report_.comparison = groups_.between(0, other);
  explains_ = {groups_.groups()[0].runs.front(), groups_.groups()[other].runs.front()};
  if (report_.comparison->first() == nullptr) return;
  const std::size_t variant_a = variant_of(*explains_.begin());
  const std::size_t variant_b = variant_of(*explains_.rbegin());

  Window window;
  Report latest = *report_.comparison;
  for (int round = 0; round < kRounds; ++round) {
    window.add(latest);
    const std::size_t a = record(variant_a, window.record_options());
    if (a == 0) return;
    std::size_t b = 0;
    do {
      if (b != 0) remove_if_not_needed(b);
      b = record(variant_b, window.record_options());
      if (b == 0) {
        report_.notes.emplace_back("the difference did not come back when bytes were recorded");
        return remove_if_not_needed(a);
      }
    } while (report_.runs[a - 1].group == report_.runs[b - 1].group);
    latest = compared(a, b);
    if (is_complete(latest) || round + 1 == kRounds) {
      report_.comparison = latest;
      report_.with_bytes = is_complete(latest);
      if (!report_.with_bytes)
        report_.notes.emplace_back("the bytes of the first finding were not all recorded");
      explains_ = {a, b};
      if (options_.replay) replay(a, b);
      return;
    }
    remove_if_not_needed(a);
    remove_if_not_needed(b);
  }
}

void Checker::replay(std::size_t reference, std::size_t candidate) {
  const auto a = open_run(made(reference).dump.string());
  const auto b = open_run(made(candidate).dump.string());
  report_.replay = explain_first(*a, *b, *report_.comparison);
  if (report_.replay) confirm_cause(*report_.comparison, *report_.replay);
}

/// Records one side in full up to the step after the first difference, and gives the ops of the
/// other one its values, until no further origin appears.
void Checker::find_all_origins() {
  const Finding* const first = report_.comparison ? report_.comparison->first() : nullptr;
  if (first == nullptr || report_.comparison->verdict != Verdict::diverged) return;
  const std::string steps = fmt::format("0-{}", first->step.value_or(0) + 1);
  const std::size_t from = variant_of(*explains_.begin());
  const std::size_t to = variant_of(*explains_.rbegin());
  FurtherOrigins& origins = report_.origins.emplace();
  const std::size_t whole = record_apart(from, {"--level", "full", "--steps", steps});
  if (whole == 0) return;
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t given = record_apart(
        to, {"--level", "digest", "--steps", steps, "--inject", made(whole).dump.string()});
    if (given == 0) break;
    ++origins.runs;
    origins.comparison = compared(whole, given);
    const std::size_t known = origins.further.size();
    for (const Finding& finding : origins.comparison.findings)
      if (finding.diverges && !is_among(finding, report_.comparison->findings) &&
          !is_among(finding, origins.further))
        origins.further.push_back(finding);
    if (origins.further.size() == known) break;
  }
}

void Checker::note_exit_codes() {
  std::set<int> codes;
  for (const CheckedRun& run : report_.runs) codes.insert(run.exit_code);
  if (codes == std::set{0}) return;
  report_.notes.push_back(
      codes.size() == 1
          ? fmt::format("every run ended with exit code {}: compared up to there", *codes.begin())
          : fmt::format("runs ended with different exit codes, {}: compared up to there",
                        fmt::join(codes, " and ")));
}

/// A setting that the program overrides, or that has no effect on it, was not varied.
void Checker::note_settings_without_effect() {
  for (const Variation& setting : options_.settings) {
    const std::string key = key_of(setting);
    if (key.empty() || settings_that_differ_.contains(key)) continue;
    report_.notes.push_back(
        fmt::format("--vary {} changed nothing: {} is the same in all runs; the program may set it "
                    "itself ({{{}}} in its arguments stands for the value)",
                    setting.name, key, setting.name));
  }
}

/// Whether a setting is all that matters, where several were tried.
void Checker::note_variants() {
  for (std::size_t variant = 0; variant < options_.variants.size(); ++variant) {
    std::set<std::size_t> groups;
    for (const CheckedRun& run : report_.runs)
      if (run.group && variant_of(run.number) == variant) groups.insert(*run.group);
    if (groups.size() > 1)
      report_.notes.push_back(
          fmt::format("runs with {} differ from each other", options_.variants[variant].label));
  }
}

std::vector<const MadeRun*> Checker::runs_of_first_variant(bool recorded) const {
  std::vector<const MadeRun*> runs;
  for (const CheckedRun& run : report_.runs)
    if (run.recorded == recorded && run.group.has_value() == recorded &&
        variant_of(run.number) == 0)
      runs.push_back(&made(run.number));
  return runs;
}

Verdict Checker::verdict() const {
  if (report_.comparison && report_.comparison->verdict == Verdict::diverged)
    return Verdict::diverged;
  if (differ()) return Verdict::inconclusive;
  const bool same_ends = std::all_of(
      report_.runs.begin(), report_.runs.end(),
      [&](const CheckedRun& run) { return run.exit_code == report_.runs.front().exit_code; });
  const bool seen_as_it_is = report_.observation != Observation::bare_differ &&
                             report_.observation != Observation::recorded_differ;
  const bool enough = !groups_.groups().empty() && groups_.groups().front().runs.size() > 1;
  return enough && groups_.conclusive() && same_ends && seen_as_it_is ? Verdict::identical
                                                                      : Verdict::inconclusive;
}

/// Of the runs that were made to see how often they differ. More are recorded, with bytes, until
/// the difference is back: they would make it look frequent.
Rate Checker::rate_of_runs() const {
  std::size_t all = 0;
  std::size_t in_largest = 0;
  for (const CheckedRun& run : report_.runs) {
    if (run.with_bytes || !run.group) continue;
    ++all;
    if (*run.group == report_.largest) ++in_largest;
  }
  return rate(all - in_largest, all);
}

void Checker::conclude() {
  report_.groups = groups_.groups();
  if (report_.groups.empty()) return;
  report_.largest = groups_.largest();
  report_.splits = groups_.splits();
  if (options_.variants.size() == 1) report_.rate = rate_of_runs();
  if (!differ() && !report_.comparison) report_.comparison = equal_;
  note_exit_codes();
  note_settings_without_effect();
  if (options_.variants.size() > 1) note_variants();
  report_.verdict = verdict();
}

void Checker::keep_what_explains() {
  for (const std::size_t run : std::set(kept_)) {
    if (report_.verdict != Verdict::identical && explains_.contains(run)) {
      report_.kept.push_back(folder_.dump_of(run));
    } else {
      folder_.remove(run);
    }
  }
  if (!report_.kept.empty()) folder_.keep();
  report_.bytes_kept = folder_.bytes();
}

void Checker::observe_runs() {
  report_.observation = observe(runs_of_first_variant(/*recorded=*/false),
                                runs_of_first_variant(/*recorded=*/true), !differ());
}

/// Runs with a capture that costs less, until they leave what bare runs do. True if they did.
bool Checker::try_capture(const std::vector<std::string>& record_options) {
  const std::vector<const MadeRun*> bare = runs_of_first_variant(/*recorded=*/false);
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < kRunsIfNotGiven; ++i) {
    const std::size_t number = record_apart(0, record_options);
    if (number == 0) return false;
    if (report_.observation == Observation::recorded_differ &&
        made(number).leaves_the_same(*bare.front()))
      return true;
    for (const std::size_t other : numbers)
      if (!made(other).leaves_the_same(made(number))) {
        report_.comparison = compared(other, number);
        explains_ = {other, number};
        return true;
      }
    numbers.push_back(number);
  }
  return false;
}

void Checker::try_lighter_captures() {
  const std::vector<std::vector<std::string>> captures{
      {"--verify", "off"}, {"--capture", "layers"}, {"--capture", "layers", "--verify", "off"}};
  for (const auto& capture : captures) {
    const bool appears = try_capture(capture);
    if (appears) {
      const std::string with = fmt::format("{}", fmt::join(capture, " "));
      report_.notes.push_back(
          report_.observation == Observation::bare_differ
              ? "the difference appears when recorded with " + with
              : fmt::format("recorded with {} the program leaves what it does without the recorder",
                            with));
      return;
    }
    if (stopped_ || report_.interrupted) return;
  }
  report_.notes.emplace_back("no lighter capture changes that");
}

CheckReport Checker::run() {
  run_bare();
  run_recorded();
  if (differ()) explain();
  if (options_.all_origins) find_all_origins();
  observe_runs();
  const bool disturbed = report_.observation == Observation::bare_differ ||
                         report_.observation == Observation::recorded_differ;
  if (!differ() && disturbed) try_lighter_captures();
  conclude();
  keep_what_explains();
  return std::move(report_);
}

}  // namespace

CheckReport check(const CheckOptions& options, const RunMaker::Watch& watch) {
  const Interruption interruption;
  return Checker(options, watch).run();
}

}  // namespace ulpscope::cli
