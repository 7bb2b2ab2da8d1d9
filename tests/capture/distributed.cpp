// Programs of several processes that exchange tensors through Gloo over the loopback.
//
//   distributed run NAMES           one rank: RANK, WORLD_SIZE; the ranks meet at the file MEETING
//   distributed launch SIZE NAMES   forks SIZE processes that execute `distributed run NAMES`, as
//                                   torchrun does
//
// NAMES is the name of what is exchanged or trained, or several, separated by commas, one after the
// other.
//
// PLANT=rank@step and DELAYS="30,0,10" are described in distributed.hpp.

#include "distributed.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>
#include <vector>

namespace distributed {
namespace {

int number(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

std::vector<int> delays() {
  std::vector<int> found;
  for (const char* text = std::getenv("DELAYS"); text != nullptr && *text != 0;) {
    found.push_back(std::atoi(text));
    text = std::strchr(text, ',');
    if (text != nullptr) ++text;
  }
  return found;
}

pid_t start(int rank, int size, const std::string& meeting, const std::string& names) {
  const pid_t child = fork();
  if (child != 0) return child;
  setenv("RANK", std::to_string(rank).c_str(), 1);
  setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
  setenv("WORLD_SIZE", std::to_string(size).c_str(), 1);
  setenv("MEETING", meeting.c_str(), 1);
  execl("/proc/self/exe", "distributed", "run", names.c_str(), nullptr);
  _exit(127);
}

int launch(int size, const std::string& names) {
  std::string folder = "/tmp/ulpscope-meeting-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const std::string meeting = folder + "/store";
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) children.push_back(start(rank, size, meeting, names));
  int failures = 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    failures += status != 0;
  }
  unlink(meeting.c_str());
  rmdir(folder.c_str());
  return failures;
}

std::vector<std::string> split(const std::string& names) {
  std::istringstream text(names);
  std::vector<std::string> found;
  for (std::string name; std::getline(text, name, ',');) found.push_back(name);
  return found;
}

int run(const std::vector<std::string>& names) {
  at::set_num_threads(1);
  Rank rank{.rank = number("RANK", 0), .size = number("WORLD_SIZE", 1), .group = {}, .program = {}};
  const char* const meeting = std::getenv("MEETING");
  rank.group = loopback::make_group(meeting == nullptr ? "meeting" : meeting, rank.rank, rank.size,
                                    std::any_of(names.begin(), names.end(), needs_order) ? 1 : 2);
  torch::manual_seed(static_cast<std::uint64_t>(100 + rank.rank));
  for (const std::string& name : names) {
    rank.program = name;
    if (run_exchange(rank) || train(rank)) continue;
    std::fprintf(stderr, "There is no program %s.\n", name.c_str());
    return 2;
  }
  return 0;
}

}  // namespace

void Rank::perhaps_plant(const at::Tensor& tensor, int step) const {
  const char* const text = std::getenv("PLANT");
  if (text == nullptr || text != std::to_string(rank) + "@" + std::to_string(step)) return;
  const torch::NoGradGuard no_grad;
  tensor.mul_(1.0001);
}

void Rank::dawdle() const {
  static const std::vector<int> kDelays = delays();
  static std::atomic<std::size_t> calls{0};
  if (kDelays.empty()) return;
  const std::size_t which = calls++ + static_cast<std::size_t>(rank);
  std::this_thread::sleep_for(std::chrono::milliseconds(kDelays[which % kDelays.size()]));
}

}  // namespace distributed

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "run" && argc == 3) return distributed::run(distributed::split(argv[2]));
  if (mode == "launch" && argc == 4) return distributed::launch(std::atoi(argv[2]), argv[3]);
  std::fprintf(stderr, "distributed run NAMES | launch SIZE NAMES\n");
  return 2;
}
