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
#include "cli/check/part_of_run.hpp"
#include "cli/check/prefix_judge.hpp"
#include "cli/check/run_progress.hpp"
#include "cli/check/side_program.hpp"
#include "cli/check/step_follower.hpp"
#include "cli/inputs/open_run.hpp"
#include "dump/layout.hpp"
#include "dump/recovery.hpp"
#include "dump/snapshot.hpp"
#include "dump/status.hpp"
#include "ulpscope/compare.hpp"
#include "ulpscope/error.hpp"

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

/// Of a lane, from one of its steps on.
struct Rest {
  std::uint64_t begin = 0;   ///< position of its first event
  std::uint64_t events = 0;  ///< that were recorded
};

Rest rest_of(const Run& run, std::uint32_t rank, std::uint32_t lane, std::uint64_t step) {
  Rest rest;
  for (std::size_t k = run.block_count(rank, lane); k-- > 0;) {
    const Block block = run.block(rank, lane, k);
    if (rest.events == 0) rest.begin = block.events.back().position + 1;
    if (block.step < static_cast<std::int64_t>(step)) break;
    rest.begin = block.events.front().position;
    rest.events += block.events.size();
  }
  return rest;
}

/// Events of `whole` from `step` on that its beginning, `part`, does not have. Steps that `whole`
/// has not kept count: positions tell how many events there were.
std::uint64_t events_after(const Run& part, const Run& whole, std::uint64_t step) {
  const auto ranks = part.ranks();
  std::uint64_t events = 0;
  std::uint64_t there = 0;
  for (const std::uint32_t rank : whole.ranks())
    for (const Lane& lane : whole.lanes(rank)) {
      const std::size_t blocks = whole.block_count(rank, lane.id);
      if (blocks == 0) continue;
      const bool has_rank = std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
      const Rest rest = has_rank ? rest_of(part, rank, lane.id, step) : Rest{};
      const std::uint64_t end = whole.block(rank, lane.id, blocks - 1).events.back().position + 1;
      events += end - std::min(end, rest.begin);
      there += rest.events;
    }
  return events - std::min(events, there);
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
  /// If it has ended by itself.
  [[nodiscard]] std::optional<int> own_code() const { return was_ended_ ? std::nullopt : code_; }

  void pause() { program_.hold(); }
  void go_on() { program_.let_go(); }
  /// Without another step. A program that has stopped itself has to go on for that.
  void begin_to_end() {
    was_ended_ = was_ended_ || !code_;
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
  bool was_ended_ = false;
};

class Live {
 public:
  Live(const LiveOptions& options, const RunMaker::Watch& watch)
      : options_(options),
        watch_(watch),
        folder_(options.directory, "live"),
        limit_(std::max<std::uint64_t>(options.window / 2, 1)),
        lockstep_(limit_.first()),
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
    result_.reference_code = reference_.own_code();
    result_.candidate_code = candidate_.own_code();
    result_.steps = std::max(steps_.steps(), common_steps_);
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
      look_at_steps();
      if (result_.comparison) return;
      lockstep_->both_wait = false;
      reference_.go_on();
      candidate_.go_on();
    }
    limit_.move_on(*lockstep_, steps_.steps());
    last_look_ = Clock::now();
    pause_ = std::max<Clock::duration>(kSlice, kSliceOverWork * (last_look_ - start));
  }

  /// Steps that were removed before they could be compared are missing in what is said at the end.
  /// A file that was removed while it was read is not asked for again.
  void look_at_steps() {
    try {
      result_.comparison = steps_.look();
    } catch (const Error& error) {
      const bool are_written = !reference_.code() || !candidate_.code();
      if (error.code() != ErrorCode::incomplete && !are_written) throw;
    }
  }

  /// Sooner if they would have to wait.
  [[nodiscard]] bool is_due() const {
    const auto since = Clock::now() - last_look_;
    const std::uint64_t steps =
        std::max(lockstep_->reference.steps.load(), lockstep_->candidate.steps.load());
    const bool would_wait = steps >= steps_.steps() + options_.window / 4;
    return since >= pause_ || (since >= kSlice && would_wait && !steps_.is_undecided());
  }

  /// Once one program has ended and the other one has begun a step that it does not have: all that
  /// both have is there. It is compared, and what is needed to say how they compare stays, however
  /// long the other one runs.
  void look_past_the_end() {
    if (!reference_.code() == !candidate_.code()) return;
    Side& ended = reference_.code() ? reference_ : candidate_;
    Side& running = reference_.code() ? candidate_ : reference_;
    const Advance& advance = reference_.code() ? lockstep_->candidate : lockstep_->reference;
    const std::uint64_t begun = advance.steps;
    const std::uint64_t steps = all_steps(ended.dump().string());
    if (begun <= steps || begun < look_past_at_) return;
    look_at_steps();  // before the first of them are removed
    if (result_.comparison || !running.show()) return;
    static_cast<void>(dump::recover(running.snapshot()));
    const bool is_past =
        newest_step(*open_run(running.snapshot().string())) >= static_cast<std::int64_t>(steps);
    const bool waits_for_nothing =
        !complete(ended) && begun >= steps + static_cast<std::uint64_t>(kStepsToBegin);
    if (!is_past && !waits_for_nothing) {  // a thread or process is behind, or has ended
      look_past_at_ = begun + (begun - steps);
      running.remove_snapshot();
      running.line().answer(Answer::go_on);
      return;
    }
    alone_ = &running;
    Report report = compare_ends();
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
    if (interrupted() != 0) return;
    const bool all_is_kept =
        has_beginning(reference_.dump().string()) && has_beginning(candidate_.dump().string());
    if (all_is_kept && !is_cut_short_) alone_ = nullptr;
    if (!all_is_kept && alone_ == nullptr) look_at_steps();
    if (result_.comparison) return;
    result_.comparison = compare_ends();
    if (alone_ != nullptr && !is_cut_short_) count_what_followed(*result_.comparison);
    say_what_is_open(*result_.comparison, all_is_kept);
  }

  /// What the one that went on alone has done since.
  void count_what_followed(Report& report) const {
    std::uint64_t& events =
        alone_ == &reference_ ? report.coverage.only_reference : report.coverage.only_candidate;
    events += events_after(*open_run(alone_->snapshot().string()),
                           *open_run(alone_->dump().string()), common_steps_);
  }

  /// What was compared at the end is not all that they did.
  void say_what_is_open(Report& report, bool all_is_kept) const {
    const bool is_identical = report.verdict == Verdict::identical;
    if (!is_identical && (report.verdict != Verdict::inconclusive || report.first() != nullptr))
      return;
    std::string why = all_is_kept || is_cut_short_ ? "" : uncompared_steps();
    const auto reference = reference_.own_code();
    const auto candidate = candidate_.own_code();
    if (is_identical && reference && candidate && *reference != *candidate)
      why = fmt::format("the reference ended with exit code {} and the candidate with exit code {}",
                        *reference, *candidate);
    if (why.empty()) return;
    report.verdict = Verdict::inconclusive;
    report.summary = "inconclusive: all that was compared is equal, but " + why;
  }

  /// Of those that are not kept; empty if all of them were compared in time.
  [[nodiscard]] std::string uncompared_steps() const {
    if (!steps_.open().empty()) return steps_.open();
    const auto compared = static_cast<std::int64_t>(steps_.steps());
    if (ends_from_ <= compared) return {};
    const std::int64_t end = std::min(ends_from_, ended_after_ + 1);
    if (end <= compared)
      return fmt::format("the steps before {} were removed before the ends could be compared",
                         ends_from_);
    return removed_steps(steps_.steps(), static_cast<std::uint64_t>(end));
  }

  /// Of what both still have, which may be no step. Of the one that goes on alone that is what it
  /// had when the other one ended.
  [[nodiscard]] Report compare_ends() {
    {
      const auto reference = open_run(end_of(reference_));
      const auto candidate = open_run(end_of(candidate_));
      ends_from_ = std::max(first_step(*reference), first_step(*candidate));
      ended_after_ = std::min(newest_step(*reference), newest_step(*candidate));
    }
    const bool has_common = ends_from_ <= ended_after_;
    const auto reference = opened(reference_, has_common ? ends_from_ : kSetup);
    const auto candidate = opened(candidate_, has_common ? ends_from_ : kSetup);
    CompareOptions options;
    options.allow_longer = options_.allow_longer;
    options.any_exit_code = true;  // one of them may have been ended
    Report report = compare(*reference, *candidate, options);
    if (!has_common) {  // what one of them alone has shows no difference
      report.findings.clear();
      report.causes.clear();
    }
    common_steps_ = std::min(report.reference.steps, report.candidate.steps);
    return report;
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
  StepLimit limit_;
  SharedLockstep lockstep_;
  Side reference_;
  Side candidate_;
  PrefixJudge judge_;
  StepFollower steps_;
  LiveResult result_;
  Side* alone_ = nullptr;              ///< goes on after the other one's end
  bool is_cut_short_ = false;          ///< that one was ended
  std::uint64_t look_past_at_ = 0;     ///< when it has begun so many steps
  std::int64_t ends_from_ = kSetup;    ///< the first step that both still have in the end
  std::int64_t ended_after_ = kSetup;  ///< the last step of the one that has fewer
  std::uint64_t common_steps_ = 0;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_look_ = start_;
  Clock::duration pause_ = kSlice;
};

}  // namespace

LiveResult live(const LiveOptions& options, const RunMaker::Watch& watch) {
  return Live(options, watch).run();
}

}  // namespace ulpscope::cli
