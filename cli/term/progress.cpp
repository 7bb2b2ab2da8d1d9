#include "cli/term/progress.hpp"

#include <unistd.h>

#include <cstdio>

#include "cli/term/terminal.hpp"
#include "cli/term/width.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::chrono::seconds kPatience{1};  // work that takes less shows no progress
constexpr std::chrono::milliseconds kInterval{200};

bool owns_terminal() { return tcgetpgrp(STDERR_FILENO) == getpgrp(); }

void write_over(std::string_view line) {
  constexpr std::string_view kErase = "\r\x1b[2K";
  std::fwrite(kErase.data(), 1, kErase.size(), stderr);
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

Progress::Progress()
    : enabled_(isatty(STDERR_FILENO) == 1), next_(std::chrono::steady_clock::now() + kPatience) {}

void Progress::show(std::string_view text) {
  if (!enabled_ || std::chrono::steady_clock::now() < next_ || !owns_terminal()) return;
  next_ = std::chrono::steady_clock::now() + kInterval;
  shown_ = true;
  const std::string line = elided(text, output_width(STDERR_FILENO) - 1, Terminal{});
  write_over(line);
}

void Progress::erase() {
  if (!shown_) return;
  write_over("");
  shown_ = false;
}

}  // namespace ulpscope::cli
