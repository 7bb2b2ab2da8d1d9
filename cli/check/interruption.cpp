#include "cli/check/interruption.hpp"

#include <atomic>

namespace ulpscope::cli {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

std::atomic<int> asked{0};

}  // namespace

Interruption::Interruption() {
  struct sigaction remember {};
  remember.sa_handler = [](int signal) { asked.store(signal); };
  sigemptyset(&remember.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &remember, &before_[i]);
}

Interruption::~Interruption() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

int interrupted() noexcept { return asked.load(); }

}  // namespace ulpscope::cli
