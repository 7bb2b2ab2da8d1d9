#include "cli/term/working.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "cli/term/progress.hpp"

namespace ulpscope::cli {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Working::Working(std::string what) : what_(std::move(what)) {
  if (isatty(STDERR_FILENO) == 1) thread_ = std::thread([this] { run(); });
}

Working::~Working() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Working::run() {
  const Clock::time_point begin = Clock::now();
  Progress progress;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::milliseconds(250), [this] { return done_; })) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin);
    progress.show(fmt::format("{}: {} s", what_, seconds.count()));
  }
}

}  // namespace ulpscope::cli
