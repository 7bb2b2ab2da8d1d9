#include "cli/record/patience.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "cli/term/escape.hpp"
#include "cli/term/say.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{1};  // before reporting what it waits for

}  // namespace

Patience::Patience(std::string program, std::optional<CostEstimate> estimate)
    : program_(std::move(program)),
      estimate_(std::move(estimate)),
      command_prints_here_(isatty(STDOUT_FILENO) == 1) {}

/// A terminal that the command prints to is the command's: nothing is drawn over its lines.
void Patience::command_runs(const dump::RecordingCounts& counts) {
  if (estimate_) {
    if (const auto cost = estimate_->look(counts.steps)) {
      progress_.erase();
      say(fmt::format("ulpscope: note: {}", in_words(*cost)));
    }
  }
  if (!command_prints_here_) show(counts);
}

void Patience::command_has_ended(const dump::RecordingCounts& counts) {
  if (!since_) since_ = Clock::now();
  if (!said_ && Clock::now() - *since_ > kPatience) {
    said_ = true;
    progress_.erase();
    say(
        fmt::format("ulpscope: note: {} has ended; waiting for the processes it left behind "
                    "(Ctrl-C ends the recording)",
                    escaped(program_)));
  }
  show(counts);
}

void Patience::show(const dump::RecordingCounts& counts) {
  if (counts.events == 0) return;
  progress_.show(fmt::format("recording: {}, {}", core::counted(counts.events, "event"),
                             core::counted(counts.steps, "step")));
}

}  // namespace ulpscope::cli
