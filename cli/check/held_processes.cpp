#include "cli/check/held_processes.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>

#include "cli/check/side_program.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t kMostProcesses = 4096;

bool is_stopped(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  file.ignore(std::numeric_limits<std::streamsize>::max(), ')');
  char state = 0;
  return file >> state && (state == 'T' || state == 't');
}

bool has_ended(pid_t process) { return kill(process, 0) != 0 && errno == ESRCH; }

}  // namespace

struct HeldProcesses::Table {
  std::array<std::atomic<pid_t>, kMostProcesses> processes;  // 0: free

  [[nodiscard]] bool has(pid_t process) const {
    return std::find(processes.begin(), processes.end(), process) != processes.end();
  }
  bool replace(pid_t before, pid_t after) {
    const auto found = std::find(processes.begin(), processes.end(), before);
    return found != processes.end() && found->compare_exchange_strong(before, after);
  }
  [[nodiscard]] bool make_room() {
    bool has_room = false;
    for (auto& each : processes) {
      pid_t process = each;
      if (process != 0 && has_ended(process)) each.compare_exchange_strong(process, 0);
      has_room = has_room || each == 0;
    }
    return has_room;
  }
};

HeldProcesses::HeldProcesses() {
  void* const memory =
      mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(ErrorCode::io, "no memory: " + std::generic_category().message(errno));
  table_ = static_cast<Table*>(memory);  // all zeros, which is what everything begins with
}

HeldProcesses::~HeldProcesses() { munmap(table_, sizeof(Table)); }

/// It is remembered once it is stopped: whoever lets the others go meanwhile leaves it to the next
/// let_go().
void HeldProcesses::hold(pid_t creator) noexcept {
  for (const pid_t process : descendants_of(creator)) {
    if (is_stopped(process)) continue;
    const bool is_known = table_->has(process);
    if (!is_known && !table_->has(0) && !table_->make_room()) return;
    if (kill(process, SIGSTOP) == 0 && !is_known && !table_->replace(0, process))
      kill(process, SIGCONT);
  }
}

void HeldProcesses::let_go(pid_t creator) noexcept {
  std::vector<pid_t> processes = descendants_of(creator);
  std::reverse(processes.begin(), processes.end());
  for (const pid_t process : processes)
    if (table_->replace(process, 0)) kill(process, SIGCONT);
}

std::vector<pid_t> HeldProcesses::held(pid_t creator) const {
  std::vector<pid_t> processes = descendants_of(creator);
  std::erase_if(processes, [this](pid_t process) { return !table_->has(process); });
  return processes;
}

}  // namespace ulpscope::cli
