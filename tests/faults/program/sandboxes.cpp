#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <thread>
#include <vector>

#include "hazards.hpp"
#include "progress.hpp"
#include "training.hpp"

namespace faults {
namespace {

/// Programs that forbid themselves system calls. What they need themselves is allowed, and nothing
/// more: a recorder that made another call would end them.
using Calls = std::initializer_list<unsigned>;

constexpr unsigned kKill = SECCOMP_RET_KILL_PROCESS;
constexpr unsigned kRefuse = SECCOMP_RET_ERRNO | EPERM;

/// What an op, the end of a thread and the end of the program need.
constexpr Calls kOfOps = {SYS_write,  SYS_brk,      SYS_mmap, SYS_munmap,
                          SYS_mremap, SYS_mprotect, SYS_futex};
constexpr Calls kOfEnds = {SYS_madvise, SYS_rt_sigprocmask, SYS_exit, SYS_exit_group};

/// A filter that lets `listed` calls pass, or with `forbidden` all but those.
class Filter {
 public:
  Filter(const std::vector<unsigned>& listed, unsigned refusal, bool forbidden = false) {
    const unsigned otherwise = forbidden ? SECCOMP_RET_ALLOW : refusal;
    const unsigned when_listed = forbidden ? refusal : SECCOMP_RET_ALLOW;
    code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    for (const unsigned call : listed) {
      code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
      code_.push_back(BPF_STMT(BPF_RET | BPF_K, when_listed));
    }
    code_.push_back(BPF_STMT(BPF_RET | BPF_K, otherwise));
    program_ = {static_cast<unsigned short>(code_.size()), code_.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) std::abort();
  }

  void put_on_this_thread() {
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program_, 0, 0) != 0) std::abort();
  }
  void put_on_all_threads() {
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program_) != 0)
      std::abort();
  }

 private:
  std::vector<sock_filter> code_;
  sock_fprog program_{};
};

std::vector<unsigned> all_of(std::initializer_list<Calls> lists) {
  std::vector<unsigned> calls;
  for (const Calls list : lists) calls.insert(calls.end(), list);
  return calls;
}

void strict() {
  Training training;
  training.steps(6);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) std::abort();
  say("%.9g", static_cast<double>(chain(5)));
  syscall(SYS_exit, 6);
}

void filtered(unsigned refusal) {
  Training training;
  training.steps(6);
  Filter(all_of({kOfOps, kOfEnds}), refusal).put_on_this_thread();
  training.steps(6);
  say("%s", training.digest().c_str());
}

void filtered_to_death() { filtered(kKill); }
void filtered_by_refusal() { filtered(kRefuse); }

/// One thread has computed before the filter, the other one only does so after it.
void filtered_in_all_threads() {
  std::atomic<int> computed{0};
  std::atomic<bool> filtered{false};
  std::array<float, 2> left{};
  const auto compute = [&](int before, float& sum) {
    if (before > 0) sum = chain(before);
    computed.fetch_add(1);
    while (!filtered) {
    }
    sum += chain(10);
  };
  std::thread old([&] { compute(10, left[0]); });
  std::thread young([&] { compute(0, left[1]); });
  while (computed != 2) {
  }
  Filter(all_of({kOfOps, kOfEnds}), kKill).put_on_all_threads();
  filtered = true;
  old.join();
  young.join();
  say("%.9g %.9g", static_cast<double>(left[0]), static_cast<double>(left[1]));
}

/// While another thread computes without a pause.
void filtered_beside_ops() {
  std::atomic<int> computed{0};
  std::atomic<bool> filtered{false};
  std::thread busy([&] {
    while (!filtered) {
      chain(10);
      ++computed;
    }
  });
  while (computed < 100) {
  }
  Filter(all_of({kOfOps, kOfEnds}), kKill).put_on_all_threads();
  filtered = true;
  busy.join();
  say("%.9g", static_cast<double>(chain(10)));
}

/// How the child ends; the parent continues training.
void outlive(pid_t child, Training& training) {
  int status = 0;
  waitpid(child, &status, 0);
  training.step();
  say("child ended with %d", status);
}

void forks_under_a_filter() {
  Training training;
  training.steps(6);
  Filter(all_of({kOfOps, kOfEnds, {SYS_clone, SYS_set_robust_list, SYS_wait4}}), kKill)
      .put_on_this_thread();
  const pid_t child = fork();
  if (child == 0) {
    training.step();
    _exit(7);
  }
  outlive(child, training);
}

void filtered_child() {
  Training training;
  training.steps(6);
  const pid_t child = fork();
  if (child == 0) {
    Filter(all_of({kOfOps, kOfEnds}), kKill).put_on_this_thread();
    training.step();
    _exit(7);
  }
  outlive(child, training);
}

constexpr Calls kOfSockets = {SYS_socket, SYS_connect, SYS_sendmsg, SYS_recvmsg};

/// What it starts trains too.
void launches_under_filter() {
  Training training;
  training.steps(6);
  const pid_t child = fork();
  if (child == 0) {
    Filter(kOfSockets, kKill, /*forbidden=*/true).put_on_this_thread();
    execl("/proc/self/exe", "fault_program", "train", "6", nullptr);
    std::abort();
  }
  outlive(child, training);
}

/// The child has the parent's memory, and its own filter.
void filters_after_vfork() {
  Training training;
  training.steps(6);
  Filter filter(kOfSockets, kKill, /*forbidden=*/true);
  const pid_t child = vfork();
  if (child == 0) {
    filter.put_on_this_thread();
    execl("/bin/true", "true", nullptr);
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  training.steps(6);
  say("child ended with %d", status);
}

/// A filter that the program was started under, as a launcher leaves it: it has no sockets.
void started_under_filter(unsigned refusal) {
  if (std::getenv("FAULTS_UNDER_FILTER") == nullptr) {
    setenv("FAULTS_UNDER_FILTER", "1", 1);
    Filter(kOfSockets, refusal, /*forbidden=*/true).put_on_this_thread();
    const char* const name = refusal == kKill ? "seccomp-inherited" : "seccomp-inherited-errno";
    execl("/proc/self/exe", "fault_program", name, nullptr);
    std::abort();
  }
  Training training;
  training.steps(6);
  say("%s", training.digest().c_str());
}

void started_under_deadly_filter() { started_under_filter(kKill); }
void started_under_refusing_filter() { started_under_filter(kRefuse); }

/// Requests what it cannot get, as programs do to see what the system supports.
void only_asks() {
  Training training;
  training.steps(6);
  const int by_prctl = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr, 0, 0);
  const long by_syscall = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, nullptr);
  training.steps(6);
  say("%d %ld %s", by_prctl, by_syscall, training.digest().c_str());
}

}  // namespace

void add_sandboxes(Hazards& hazards) {
  hazards["seccomp-strict"] = strict;
  hazards["seccomp-kills"] = filtered_to_death;
  hazards["seccomp-refuses"] = filtered_by_refusal;
  hazards["seccomp-all-threads"] = filtered_in_all_threads;
  hazards["seccomp-beside-ops"] = filtered_beside_ops;
  hazards["seccomp-forks"] = forks_under_a_filter;
  hazards["seccomp-child"] = filtered_child;
  hazards["seccomp-launches"] = launches_under_filter;
  hazards["seccomp-vfork"] = filters_after_vfork;
  hazards["seccomp-inherited"] = started_under_deadly_filter;
  hazards["seccomp-inherited-errno"] = started_under_refusing_filter;
  hazards["seccomp-asked"] = only_asks;
}

}  // namespace faults
