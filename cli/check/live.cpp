#include "cli/check/live.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <limits>
#include <memory>
#include <system_error>
#include <utility>

#include "cli/check/dump_folder.hpp"
#include "cli/check/interruption.hpp"
#include "cli/check/line.hpp"
#include "cli/check/lockstep.hpp"
#include "cli/check/prefix_judge.hpp"
#include "cli/check/side_program.hpp"
#include "cli/check/step_follower.hpp"
#include "cli/inputs/open_run.hpp"
#include "core/forwarded_run.hpp"
#include "dump/layout.hpp"
#include "dump/recovery.hpp"
#include "dump/snapshot.hpp"
#include "dump/status.hpp"
#include "ulpscope/compare.hpp"

namespace ulpscope::cli {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kSegments = 16;  // of a window
/// For which the programs run between two comparisons of what is published, at least, and over the
/// time that one takes.
constexpr auto kSlice = 100ms;
constexpr int kSliceOverWork = 10;
constexpr int kListenMilliseconds = 10;
constexpr auto kLongestShow = 10s;

/// From now on, all that this process and those that it starts print.
void print_to(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return;
  dup2(file, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  close(file);
}

/// A recording of which only a part is there, with what is known of the whole.
class PartOfRun : public ForwardedRun {
 public:
  PartOfRun(std::unique_ptr<Run> part, RunInfo whole)
      : ForwardedRun(*part), part_(std::move(part)), info_(std::move(whole)) {}

  [[nodiscard]] const RunInfo& info() const override { return info_; }

 private:
  std::unique_ptr<Run> part_;
  RunInfo info_;
};

/// The earliest step that all ranks of a recording still have.
std::int64_t first_step(const std::string& dump) {
  const auto run = open_run(dump);
  std::int64_t first = kSetup;
  for (const std::uint32_t rank : run->ranks()) {
    std::int64_t of_rank = std::numeric_limits<std::int64_t>::max();
    for (const Lane& lane : run->lanes(rank))
      if (run->block_count(rank, lane.id) > 0)
        of_rank = std::min(of_rank, run->block(rank, lane.id, 0).step);
    first = std::max(first, of_rank);
  }
  return first;
}

/// One of the two.
class Side {
 public:
  Side(const LiveOptions& options, bool is_reference, std::filesystem::path dump,
       Lockstep& lockstep)
      : command_(is_reference ? options.reference : options.candidate),
        dump_(std::move(dump)),
        program_(
            [&](HeldProcesses& held) { return record(options, is_reference, lockstep, held); }) {
    line_.keep(0);
  }

  [[nodiscard]] const std::filesystem::path& dump() const noexcept { return dump_; }
  [[nodiscard]] std::filesystem::path snapshot() const { return dump_ / "so-far"; }
  [[nodiscard]] Line& line() noexcept { return line_; }
  /// Once it has ended.
  [[nodiscard]] const std::optional<int>& code() const noexcept { return code_; }

  void pause() { program_.hold(); }
  void go_on() { program_.let_go(); }
  /// Without another step. A program that has stopped itself has to go on for that.
  void begin_to_end() const {
    line_.answer(Answer::let_go);
    program_.send_to_descendants(SIGTERM);
    program_.send_to_descendants(SIGCONT);
    program_.send(SIGTERM);
  }
  void wait() { code_ = program_.wait(1h); }
  void look() { code_ = program_.wait(0ms); }
  void remove_snapshot() const {
    std::error_code ignored;
    std::filesystem::remove_all(snapshot(), ignored);
  }

  /// Has what it has recorded so far put into its snapshot.
  [[nodiscard]] bool show() {
    line_.answer(Answer::show);
    const auto end = Clock::now() + kLongestShow;
    while (!code_ && Clock::now() < end) {
      if (line_.receive(kListenMilliseconds)) return true;
      look();
    }
    if (!code_) return false;
    try {
      dump::take_snapshot(dump_, snapshot());
    } catch (const std::exception&) {
      return false;
    }
    return true;
  }

  /// Why nothing that it does can be compared; empty while that is not known.
  [[nodiscard]] std::optional<Trouble> trouble() {
    if (!code_) return std::nullopt;
    if (auto trouble = line_.trouble()) return trouble;
    const auto status = dump::read_status(dump_);
    const bool is_empty =
        status && (status->recorded ? status->counts.events == 0 : dump::list_ranks(dump_).empty());
    if (!is_empty) return std::nullopt;
    return Trouble{
        fmt::format(
            "'{}' was not recorded: {}; it ended with exit code {}", fmt::join(command_, " "),
            status->reason.empty() ? "it computed nothing with LibTorch" : status->reason, *code_),
        fmt::format("what it printed is in {}", output_path())};
  }

 private:
  [[nodiscard]] std::string output_path() const { return dump_.string() + ".txt"; }

  /// In the process that records.
  int record(const LiveOptions& options, bool is_reference, Lockstep& lockstep,
             HeldProcesses& held) {
    print_to(output_path());
    LiveWatch watch(lockstep, is_reference, {dump_, snapshot(), line_.keep(1), &held});
    std::vector<std::string> words{
        "-o",
        dump_.string(),
        "--segment-steps",
        std::to_string(std::max<std::uint64_t>(options.window / kSegments, 1)),
        "--keep-last",
        std::to_string(options.window),
        "--"};
    words.insert(words.end(), command_.begin(), command_.end());
    return options.record(words, watch);
  }

  const std::vector<std::string>& command_;
  std::filesystem::path dump_;
  Line line_;
  SideProgram program_;
  std::optional<int> code_;
};

class Live {
 public:
  Live(const LiveOptions& options, const RunMaker::Watch& watch)
      : options_(options),
        watch_(watch),
        folder_(options.directory, "live"),
        lockstep_(std::max<std::uint64_t>(options.window / 2, 1) + 1),
        reference_(options, true, folder_.dump_of(1), *lockstep_),
        candidate_(options, false, folder_.dump_of(2), *lockstep_),
        judge_(reference_.snapshot().string()),
        steps_(reference_.dump().string(), candidate_.dump().string()) {}

  LiveResult run() {
    const Interruption interruption;
    while (!(reference_.code() && candidate_.code()) && interrupted() == 0 && !is_decided()) {
      look_at_programs();
      if (candidate_.line().receive(kListenMilliseconds)) examine();
      if (!is_decided() && !alone_ && is_due()) compare_what_is_new();
      if (!is_decided() && !alone_) look_past_the_end();
      watch_(fmt::format("{} steps compared", steps_.steps()), Clock::now() - start_);
    }
    look_at_programs();
    if (!is_decided()) finish();
    reference_.begin_to_end();
    candidate_.begin_to_end();
    reference_.wait();
    candidate_.wait();
    end_what_is_left();
    reference_.remove_snapshot();
    candidate_.remove_snapshot();
    result_.reference_code = reference_.code().value_or(0);
    result_.candidate_code = candidate_.code().value_or(0);
    result_.steps = std::max(steps_.steps(), common_steps_);
    result_.conclusive = steps_.conclusive();
    result_.kept = {reference_.dump(), candidate_.dump()};
    if (!result_.trouble || ran()) folder_.keep();
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool is_decided() const { return result_.comparison || result_.trouble; }
  /// Both programs have run, so that what they have printed may be of use.
  [[nodiscard]] bool ran() { return !reference_.line().trouble() && !candidate_.line().trouble(); }

  void look_at_programs() {
    reference_.look();
    candidate_.look();
    lockstep_->reference.ended = lockstep_->reference.ended || reference_.code();
    lockstep_->candidate.ended = lockstep_->candidate.ended || candidate_.code();
    if (is_decided() || interrupted() != 0) return;
    result_.trouble = reference_.trouble();
    if (!result_.trouble) result_.trouble = candidate_.trouble();
  }

  /// The candidate, which waits, has a value that the reference has not.
  void examine() {
    Answer answer = Answer::go_on;
    if (reference_.show()) {
      try {
        static_cast<void>(dump::recover(reference_.snapshot()));
        const auto judgement = judge_.judge(candidate_.snapshot());
        answer = judgement.answer;
        if (judgement.diverged) result_.comparison = *judgement.diverged;
      } catch (const std::exception&) {  // the steps that are published are compared anyhow
      }
    }
    reference_.remove_snapshot();
    candidate_.remove_snapshot();
    if (result_.comparison) return;  // both are ended
    reference_.line().answer(Answer::go_on);
    candidate_.line().answer(answer);
  }

  /// What values alone do not show. Both wait meanwhile, and the one that is ahead after it.
  void compare_what_is_new() {
    const auto start = Clock::now();
    const std::uint64_t reference = published_steps(reference_.dump().string());
    const std::uint64_t candidate = published_steps(candidate_.dump().string());
    if (std::min(reference, candidate) > steps_.steps()) {
      lockstep_->both_wait = true;
      reference_.pause();
      candidate_.pause();
      result_.comparison = steps_.look();
      if (result_.comparison) return;
      lockstep_->both_wait = false;
      reference_.go_on();
      candidate_.go_on();
    }
    lockstep_->step_limit = step_limit();
    last_look_ = Clock::now();
    pause_ = std::max<Clock::duration>(kSlice, kSliceOverWork * (last_look_ - start));
  }

  /// Of the one that is ahead, which is then held in a step that is not compared yet.
  [[nodiscard]] std::uint64_t step_limit() const {
    return steps_.steps() + std::max<std::uint64_t>(options_.window / 2, 1) + 1;
  }

  /// Sooner if they would have to wait.
  [[nodiscard]] bool is_due() const {
    const auto since = Clock::now() - last_look_;
    const std::uint64_t steps =
        std::max(lockstep_->reference.steps.load(), lockstep_->candidate.steps.load());
    return since >= pause_ || (since >= kSlice && steps >= steps_.steps() + options_.window / 4);
  }

  /// Once one program has ended and the other one has begun a step that it does not have: all that
  /// both have is there. It is compared, and what is needed to say how they compare stays, however
  /// long the other one runs.
  void look_past_the_end() {
    if (!reference_.code() == !candidate_.code()) return;
    Side& ended = reference_.code() ? reference_ : candidate_;
    Side& running = reference_.code() ? candidate_ : reference_;
    const Advance& advance = reference_.code() ? lockstep_->candidate : lockstep_->reference;
    const std::uint64_t steps = published_steps(ended.dump().string());
    if (advance.steps <= steps || !running.show()) return;
    static_cast<void>(dump::recover(running.snapshot()));
    alone_ = &running;
    Report report = compare_ends();
    common_steps_ = steps;
    running.line().answer(Answer::let_go);
    lockstep_->step_limit = kNone;
    if (report.verdict == Verdict::diverged) {
      result_.comparison = std::move(report);
    } else if (!complete(ended)) {  // whatever follows, no more can be said
      is_cut_short_ = true;
      running.begin_to_end();
    }
  }

  /// Programs whose recorder was killed: they belong to this process now.
  static void end_what_is_left() {
    for (const pid_t process : descendants_of(getpid())) {
      kill(process, SIGTERM);
      kill(process, SIGCONT);
    }
  }

  [[nodiscard]] static bool complete(const Side& side) {
    const auto status = dump::read_status(side.dump());
    return status && status->complete;
  }

  /// Both have ended: what is left of them.
  void finish() {
    if (alone_ == nullptr) result_.comparison = steps_.look();
    if (result_.comparison || interrupted() != 0) return;
    result_.comparison = compare_ends();
  }

  /// Of what both still have. Of the one that goes on alone that is what it had when the other one
  /// ended.
  [[nodiscard]] Report compare_ends() {
    const std::int64_t first =
        std::max(first_step(end_of(reference_)), first_step(end_of(candidate_)));
    const auto reference = opened(reference_, first);
    const auto candidate = opened(candidate_, first);
    CompareOptions options;
    options.allow_longer = options_.allow_longer;
    return compare(*reference, *candidate, options);
  }

  [[nodiscard]] std::string end_of(const Side& side) const {
    return (&side == alone_ ? side.snapshot() : side.dump()).string();
  }

  [[nodiscard]] std::unique_ptr<Run> opened(const Side& side, std::int64_t first) const {
    const bool is_cut = first > 0;  // a selection of steps leaves out setup
    const std::string steps =
        is_cut ? fmt::format("@steps={}-{}", first, std::numeric_limits<std::int64_t>::max()) : "";
    auto part = open_run(end_of(side) + steps);
    if (!is_cut && alone_ == nullptr) return part;
    const bool goes_on = &side == alone_ && (!side.code() || is_cut_short_);
    RunInfo whole = goes_on ? part->info() : open_run(side.dump().string())->info();
    whole.complete = whole.complete || goes_on;
    whole.steps = whole.steps_in_run;
    return std::make_unique<PartOfRun>(std::move(part), std::move(whole));
  }

  const LiveOptions& options_;
  const RunMaker::Watch& watch_;
  DumpFolder folder_;
  SharedLockstep lockstep_;
  Side reference_;
  Side candidate_;
  PrefixJudge judge_;
  StepFollower steps_;
  LiveResult result_;
  Side* alone_ = nullptr;           ///< goes on after the other one's end
  std::uint64_t common_steps_ = 0;  ///< then
  bool is_cut_short_ = false;       ///< that one was ended
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_look_ = start_;
  Clock::duration pause_ = kSlice;
};

}  // namespace

LiveResult live(const LiveOptions& options, const RunMaker::Watch& watch) {
  return Live(options, watch).run();
}

}  // namespace ulpscope::cli
