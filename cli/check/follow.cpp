#include "cli/check/follow.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>

#include "cli/check/interruption.hpp"
#include "cli/check/side_program.hpp"
#include "cli/check/step_follower.hpp"
#include "cli/inputs/open_run.hpp"
#include "ulpscope/compare.hpp"

namespace ulpscope::cli {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kLeastPause = 100ms;
constexpr int kPauseOverWork = 10;  ///< comparing takes at most this part of the time

class Follower {
 public:
  Follower(const FollowOptions& options, const std::function<void(const Report&, pid_t)>& found)
      : options_(options),
        found_(found),
        program_(options.record),  // before this process has threads or handles signals
        steps_(options.reference, options.dump.string()) {}

  FollowResult run() {
    const Interruption interruption;
    auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(kLeastPause);
    std::optional<int> code;
    while (!(code = program_.wait(pause))) {
      pass_on_signal();
      const auto start = Clock::now();
      if (!result_.diverged && result_.failure.empty()) look();
      const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
      pause = std::max(pause, std::min(kPauseOverWork * took, 10 * pause));
    }
    result_.exit_code = *code;
    result_.steps = steps_.steps();
    if (!steps_.conclusive() && result_.failure.empty())
      result_.failure = "whether some steps are equal is not known";
    if (!result_.diverged) compare_whole();
    return result_;
  }

 private:
  /// Whatever is wrong with the dumps, the program goes on.
  void look() {
    try {
      const std::optional<Report> report = steps_.look();
      if (report) announce(*report, options_.stop ? stop() : 0);
    } catch (const std::exception& error) {
      result_.failure = error.what();
    }
  }

  /// The eldest of the processes that were stopped.
  pid_t stop() {
    const std::vector<pid_t> processes = program_.descendants();
    program_.send_to_descendants(SIGSTOP);
    return processes.empty() ? 0 : processes.front();
  }

  /// What steps do not show: how the runs end.
  void compare_whole() {
    try {
      const auto reference = open_run(options_.reference);
      const auto candidate = open_run(options_.dump.string());
      const Report report = compare(*reference, *candidate);
      if (report.verdict == Verdict::diverged) announce(report, 0);
    } catch (const std::exception& error) {
      if (result_.failure.empty()) result_.failure = error.what();
    }
  }

  void announce(const Report& report, pid_t stopped) {
    result_.diverged = report;
    found_(report, stopped);
  }

  /// The terminal's own signals reach the program without help.
  void pass_on_signal() {
    const int signal = interrupted();
    if (signal == 0 || signal == SIGINT || passed_on_) return;
    passed_on_ = true;
    program_.send(signal);
  }

  const FollowOptions& options_;
  const std::function<void(const Report&, pid_t)>& found_;
  SideProgram program_;
  StepFollower steps_;
  FollowResult result_;
  bool passed_on_ = false;
};

}  // namespace

FollowResult follow(const FollowOptions& options,
                    const std::function<void(const Report&, pid_t)>& found) {
  return Follower(options, found).run();
}

}  // namespace ulpscope::cli
