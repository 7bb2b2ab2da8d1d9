#include "cli/check/follow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <fstream>
#include <string>
#include <utility>

#include "cli/base/capture_prefix.hpp"
#include "cli/check/interruption.hpp"
#include "cli/check/line.hpp"
#include "cli/check/prefix_judge.hpp"
#include "cli/check/side_program.hpp"
#include "cli/check/step_follower.hpp"
#include "cli/inputs/open_run.hpp"
#include "ulpscope/compare.hpp"

namespace ulpscope::cli {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kLeastPause = 100ms;
constexpr int kPauseOverWork = 10;  ///< comparing steps takes at most this part of the time
constexpr int kWaitMilliseconds = 10;

[[nodiscard]] bool records(pid_t process) {
  std::ifstream maps(fmt::format("/proc/{}/maps", process));
  for (std::string line; std::getline(maps, line);)
    if (line.find(kCapturePrefix) != std::string::npos) return true;
  return false;
}

class Follower {
 public:
  Follower(const FollowOptions& options,
           const std::function<void(const Report&, const StoppedProcesses&)>& found)
      : options_(options),
        found_(found),
        snapshot_(options.dump / "so-far"),
        program_([this](HeldProcesses& held) {
          return record(held);
        }),  // before this process has threads or handles signals
        judge_(options.reference),
        steps_(options.reference, options.dump.string()) {
    line_.keep(0);
  }

  FollowResult run() {
    const Interruption interruption;
    std::optional<int> code;
    while (!(code = program_.wait(0ms))) {
      pass_on_signal();
      if (line_.receive(kWaitMilliseconds)) examine();
      if (options_.step_by_step && is_open() && Clock::now() >= next_look_) look();
    }
    remove_snapshot();
    result_.exit_code = *code;
    result_.trouble = line_.trouble();
    if (result_.trouble) return result_;
    result_.steps = steps_.steps();
    if (result_.failure.empty()) result_.failure = steps_.open();
    if (!result_.diverged) compare_whole();
    return result_;
  }

 private:
  /// In the process that records.
  int record(HeldProcesses& held) {
    RecordingWatch watch(open_run(options_.reference), {options_.dump, snapshot_, line_.keep(1),
                                                        options_.stop ? &held : nullptr});
    return options_.record(watch);
  }

  [[nodiscard]] bool is_open() const { return !result_.diverged && result_.failure.empty(); }

  /// Whatever is wrong with the dumps, the program goes on.
  void examine() {
    Answer answer = Answer::let_go;
    if (!result_.diverged) {
      try {
        const auto judgement = judge_.judge(snapshot_);
        answer = judgement.answer;
        if (judgement.diverged) {
          answer = Answer::leave;
          announce(*judgement.diverged, options_.stop ? stopped() : StoppedProcesses{});
        }
      } catch (const std::exception&) {  // the whole comparison says what is wrong
        answer = Answer::let_go;
      }
    }
    remove_snapshot();
    line_.answer(answer);
  }

  void remove_snapshot() const {
    std::error_code ignored;
    std::filesystem::remove_all(snapshot_, ignored);
  }

  void look() {
    const auto start = Clock::now();
    try {
      const std::optional<Report> report = steps_.look();
      if (report) announce(*report, options_.stop ? stop() : StoppedProcesses{});
    } catch (const std::exception& error) {
      result_.failure = error.what();
    }
    const auto now = Clock::now();
    next_look_ = now + std::max<Clock::duration>(kLeastPause, kPauseOverWork * (now - start));
  }

  /// A shell or a launcher may stand before the program.
  [[nodiscard]] StoppedProcesses stopped() const {
    StoppedProcesses processes = program_.held();
    const auto first = std::find_if(processes.begin(), processes.end(), records);
    if (first != processes.end()) std::rotate(processes.begin(), first, first + 1);
    return processes;
  }

  StoppedProcesses stop() {
    program_.hold();
    return stopped();
  }

  void compare_whole() {
    try {
      const auto reference = open_run(options_.reference);
      const auto candidate = open_run(options_.dump.string());
      CompareOptions as_far_as_both_go;
      as_far_as_both_go.allow_longer = true;
      as_far_as_both_go.any_exit_code = true;
      const Report report = compare(*reference, *candidate, as_far_as_both_go);
      if (report.verdict == Verdict::diverged) return announce(report, {});
      if (options_.step_by_step) return;
      result_.steps = std::min(report.reference.steps, report.candidate.steps);
      if (report.verdict == Verdict::inconclusive) compare_common_steps(report);
    } catch (const std::exception& error) {
      if (result_.failure.empty()) result_.failure = error.what();
    }
  }

  /// The program may have been ended in the middle of its last one.
  void compare_common_steps(const Report& whole) {
    if (!whole.candidate.complete && result_.steps > 0) --result_.steps;
    StepFollower steps(options_.reference, options_.dump.string());
    static_cast<void>(steps.look(result_.steps));
    if (result_.steps == 0 || !steps.open().empty()) result_.failure = whole.summary;
  }

  void announce(const Report& report, const StoppedProcesses& stopped) {
    result_.diverged = report;
    found_(report, stopped);
  }

  /// The terminal's own signals reach the program without help, once it runs.
  void pass_on_signal() {
    const int signal = interrupted();
    if (signal == 0 || passed_on_) return;
    passed_on_ = true;
    if (signal != SIGINT) program_.send(signal);
    program_.let_go();
  }

  const FollowOptions& options_;
  const std::function<void(const Report&, const StoppedProcesses&)>& found_;
  std::filesystem::path snapshot_;
  Line line_;
  SideProgram program_;
  PrefixJudge judge_;
  StepFollower steps_;
  FollowResult result_;
  Clock::time_point next_look_ = Clock::now() + kLeastPause;
  bool passed_on_ = false;
};

}  // namespace

FollowResult follow(const FollowOptions& options,
                    const std::function<void(const Report&, const StoppedProcesses&)>& found) {
  return Follower(options, found).run();
}

}  // namespace ulpscope::cli
