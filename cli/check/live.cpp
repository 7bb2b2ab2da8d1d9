#include "cli/check/live.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "cli/check/dump_folder.hpp"
#include "cli/check/interruption.hpp"
#include "cli/check/side_program.hpp"
#include "cli/check/step_follower.hpp"
#include "cli/inputs/open_run.hpp"
#include "ulpscope/compare.hpp"

namespace ulpscope::cli {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kSlice = 100ms;  // for which the programs run between two comparisons

/// One of the two.
class Side {
 public:
  Side(const std::vector<std::string>& command, std::filesystem::path dump, std::uint64_t window)
      : dump_(std::move(dump)),
        program_(recording(command, dump_, window), dump_.string() + ".txt") {}

  [[nodiscard]] const std::filesystem::path& dump() const noexcept { return dump_; }
  [[nodiscard]] const std::optional<int>& code() const noexcept { return code_; }

  void pause() const { program_.send_to_descendants(SIGSTOP); }
  void go_on() const { program_.send_to_descendants(SIGCONT); }
  void end() {
    go_on();
    program_.send(SIGTERM);
    code_ = program_.wait(1h);
  }
  void wait(std::chrono::milliseconds time) { code_ = program_.wait(time); }

 private:
  static std::vector<std::string> recording(const std::vector<std::string>& command,
                                            const std::filesystem::path& dump,
                                            std::uint64_t window) {
    std::vector<std::string> words{"/proc/self/exe",
                                   "record",
                                   "-o",
                                   dump.string(),
                                   "--segment-steps",
                                   "1",
                                   "--keep-last",
                                   std::to_string(window),
                                   "--"};
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }

  std::filesystem::path dump_;
  SideProgram program_;
  std::optional<int> code_;
};

class Live {
 public:
  Live(const LiveOptions& options, const RunMaker::Watch& watch)
      : options_(options),
        watch_(watch),
        folder_(options.directory, "live"),
        reference_(options.reference, folder_.dump_of(1), options.window),
        candidate_(options.candidate, folder_.dump_of(2), options.window),
        steps_(reference_.dump().string(), candidate_.dump().string()) {}

  LiveResult run() {
    while (!(reference_.code() && candidate_.code()) && interrupted() == 0) {
      reference_.wait(kSlice / 2);
      candidate_.wait(kSlice / 2);
      if (compare_what_is_new()) break;
      watch_(fmt::format("{} steps compared", steps_.steps()), Clock::now() - start_);
    }
    if (!result_.comparison) finish();
    reference_.end();
    candidate_.end();
    result_.reference_code = reference_.code().value_or(0);
    result_.candidate_code = candidate_.code().value_or(0);
    result_.steps = steps_.steps();
    result_.conclusive = steps_.conclusive();
    result_.kept = {reference_.dump(), candidate_.dump()};
    folder_.keep();
    return std::move(result_);
  }

 private:
  /// Both wait while new steps are compared, and the one that is ahead after it. True if they
  /// diverge.
  bool compare_what_is_new() {
    const std::uint64_t reference = published_steps(reference_.dump().string());
    const std::uint64_t candidate = published_steps(candidate_.dump().string());
    if (std::min(reference, candidate) > steps_.steps()) {
      reference_.pause();
      candidate_.pause();
      result_.comparison = steps_.look();
      if (result_.comparison) return true;
    }
    const std::uint64_t limit = steps_.steps() + options_.window / 2;
    hold_back(reference_, reference >= limit && !candidate_.code());
    hold_back(candidate_, candidate >= limit && !reference_.code());
    return false;
  }

  static void hold_back(const Side& side, bool is_ahead) {
    if (is_ahead)
      side.pause();
    else
      side.go_on();
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
  Side reference_;
  Side candidate_;
  StepFollower steps_;
  LiveResult result_;
  const Clock::time_point start_ = Clock::now();
};

}  // namespace

LiveResult live(const LiveOptions& options, const RunMaker::Watch& watch) {
  const Interruption interruption;
  return Live(options, watch).run();
}

}  // namespace ulpscope::cli
