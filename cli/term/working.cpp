#include "cli/term/working.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/term/progress.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

std::string rate_words(WorkUnit unit, double per_second) {
  const auto rate = static_cast<std::uint64_t>(per_second);
  return unit == WorkUnit::bytes ? core::byte_size(rate) + "/s"
                                 : fmt::format("{} events/s", core::grouped(rate));
}

std::string duration_words(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

std::string words(const WorkState& state) {
  std::string words =
      fmt::format("{}: {}", state.what, duration_words(std::floor(state.since_start.count())));
  const std::uint64_t done = std::min(state.done, state.all);
  if (done == 0 || state.in_stage.count() <= 0) return words;
  const double rate = static_cast<double>(done) / state.in_stage.count();
  return words + fmt::format(", {}, {}, {} left", core::percentage(done, state.all),
                             rate_words(state.unit, rate),
                             duration_words(static_cast<double>(state.all - done) / rate));
}

Working::Working(std::string what) {
  state_.what = std::move(what);
  if (isatty(STDERR_FILENO) == 1) thread_ = std::thread([this] { run(); });
}

void Working::end() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Working::begin(std::string what, WorkUnit unit, std::uint64_t all) {
  const std::lock_guard lock(mutex_);
  state_.what = std::move(what);
  state_.unit = unit;
  state_.all = all;
  stage_start_ = Clock::now();
  done_ = 0;
}

void Working::run() {
  Progress progress;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::milliseconds(250), [this] { return over_; })) {
    const Clock::time_point now = Clock::now();
    state_.since_start = now - start_;
    state_.in_stage = now - stage_start_;
    state_.done = done_;
    progress.show(words(state_));
  }
}

}  // namespace ulpscope::cli
