#include "cli/check/live.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
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
#include "dump/recovery.hpp"
#include "dump/snapshot.hpp"
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

/// One of the two.
class Side {
 public:
  Side(const LiveOptions& options, bool is_reference, std::filesystem::path dump,
       Lockstep& lockstep)
      : dump_(std::move(dump)), program_([&] { return record(options, is_reference, lockstep); }) {
    line_.keep(0);
  }

  [[nodiscard]] const std::filesystem::path& dump() const noexcept { return dump_; }
  [[nodiscard]] std::filesystem::path snapshot() const { return dump_ / "so-far"; }
  [[nodiscard]] const Line& line() const noexcept { return line_; }
  [[nodiscard]] const std::optional<int>& code() const noexcept { return code_; }

  void pause() const { program_.send_to_descendants(SIGSTOP); }
  void go_on() const { program_.send_to_descendants(SIGCONT); }
  /// Without another step.
  void begin_to_end() const {
    line_.answer(Answer::let_go);
    program_.send_to_descendants(SIGTERM);
    go_on();
    program_.send(SIGTERM);
  }
  void wait() { code_ = program_.wait(1h); }
  void look() { code_ = program_.wait(0ms); }
  void remove_snapshot() const {
    std::error_code ignored;
    std::filesystem::remove_all(snapshot(), ignored);
  }

 private:
  /// In the process that records.
  int record(const LiveOptions& options, bool is_reference, Lockstep& lockstep) {
    print_to(dump_.string() + ".txt");
    LiveWatch watch(lockstep, is_reference, {dump_, snapshot(), line_.keep(1), true});
    std::vector<std::string> words{
        "-o",
        dump_.string(),
        "--segment-steps",
        std::to_string(std::max<std::uint64_t>(options.window / kSegments, 1)),
        "--keep-last",
        std::to_string(options.window),
        "--"};
    const auto& command = is_reference ? options.reference : options.candidate;
    words.insert(words.end(), command.begin(), command.end());
    return options.record(words, watch);
  }

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
    while (!(reference_.code() && candidate_.code()) && interrupted() == 0) {
      look_at_programs();
      if (const auto sighting = candidate_.line().receive(kListenMilliseconds)) examine(*sighting);
      if (is_due() && !result_.comparison) compare_what_is_new();
      if (result_.comparison) break;
      watch_(fmt::format("{} steps compared", steps_.steps()), Clock::now() - start_);
    }
    if (!result_.comparison) finish();
    reference_.begin_to_end();
    candidate_.begin_to_end();
    reference_.wait();
    candidate_.wait();
    result_.reference_code = reference_.code().value_or(0);
    result_.candidate_code = candidate_.code().value_or(0);
    result_.steps = steps_.steps();
    result_.conclusive = steps_.conclusive();
    result_.kept = {reference_.dump(), candidate_.dump()};
    folder_.keep();
    return std::move(result_);
  }

 private:
  void look_at_programs() {
    reference_.look();
    candidate_.look();
    lockstep_->reference.ended = lockstep_->reference.ended || reference_.code();
    lockstep_->candidate.ended = lockstep_->candidate.ended || candidate_.code();
  }

  /// The candidate, which waits, has a value that the reference has not.
  void examine(const Sighting& seen) {
    Answer answer = Answer::go_on;
    if (shows_reference()) {
      try {
        static_cast<void>(dump::recover(reference_.snapshot()));
        const auto judgement = judge_.judge(candidate_.snapshot(), seen.begun_step);
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

  /// What the reference has recorded so far is in its snapshot.
  [[nodiscard]] bool shows_reference() {
    reference_.line().answer(Answer::show);
    const auto end = Clock::now() + kLongestShow;
    while (!reference_.code() && Clock::now() < end) {
      if (reference_.line().receive(kListenMilliseconds)) return true;
      reference_.look();
    }
    if (!reference_.code()) return false;
    try {
      dump::take_snapshot(reference_.dump(), reference_.snapshot());
    } catch (const std::exception&) {
      return false;
    }
    return true;
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

  /// Both have ended: what is left of them.
  void finish() {
    result_.comparison = steps_.look();
    if (result_.comparison || interrupted() != 0) return;
    const auto reference = open_run(reference_.dump().string());
    const auto candidate = open_run(candidate_.dump().string());
    result_.comparison = compare(*reference, *candidate);
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
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_look_ = start_;
  Clock::duration pause_ = kSlice;
};

}  // namespace

LiveResult live(const LiveOptions& options, const RunMaker::Watch& watch) {
  const Interruption interruption;
  return Live(options, watch).run();
}

}  // namespace ulpscope::cli
