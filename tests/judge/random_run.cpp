// Executes a small random program and prints one line of JSON: digests of all that it leaves, in
// each thread and child, read through pointers. random_plan says what the program does.
//
//   random_run --seed S [--mutate M]
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "holdings.hpp"
#include "plan.hpp"

namespace judge {
namespace {

constexpr const char* kStore = "RANDOM_RUN_STORE";

/// Two threads that take tasks from a queue as they come.
class Queue {
 public:
  Queue() {
    for (int i = 0; i < 2; ++i) threads_.emplace_back([this] { work(); });
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  std::future<void> add(std::function<void()> task) {
    std::packaged_task<void()> packaged(std::move(task));
    std::future<void> done = packaged.get_future();
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(packaged));
    }
    changed_.notify_one();
    return done;
  }

 private:
  void work() {
    for (;;) {
      std::packaged_task<void()> task;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<void()>> tasks_;
  std::vector<std::thread> threads_;
  bool ends_ = false;
};

std::future<void> launch(std::function<void()> task) {
  auto packaged = std::make_shared<std::packaged_task<void()>>(std::move(task));
  std::future<void> done = packaged->get_future();
  at::launch([packaged] { (*packaged)(); });
  return done;
}

struct Child {
  pid_t process;
  int pipe;
};

/// A worker with what it holds and whom it has started.
struct Runner {
  const Program& program;
  std::size_t number;
  std::unique_ptr<Holdings> holdings;
  std::size_t next = 0;                                 ///< Instruction.
  std::map<std::size_t, std::shared_ptr<Runner>> kept;  ///< Whose holdings outlive their threads.
  std::map<std::size_t, std::string> lines;             ///< What workers have left, by number.
  std::mutex mutex;
  std::vector<std::thread> threads;
  std::vector<std::future<void>> tasks;
  std::vector<Child> children;
  int stay = -1, stay_until = -1;  ///< A pipe: children stay until its end is closed.
  std::string folder;              ///< Where children find each other.
  std::unique_ptr<Queue> queue;

  Runner(const Program& whole, std::size_t which)
      : program(whole),
        number(which),
        holdings(std::make_unique<Holdings>(whole.workers[which], whole.seed)) {}

  [[nodiscard]] const Worker& worker() const { return program.workers[number]; }

  void prepare(Holdings& parent);
  void run();
  void run_one(const Instruction& instruction);
  void use_result(const Instruction& instruction);
  void spawn(const Instruction& instruction);
  void run_other(const std::shared_ptr<Runner>& other);
  void spawn_children(const Instruction& instruction);
  void spawn_child(const Instruction& instruction, std::size_t other);
  void join();
  void run_section(std::size_t first, std::size_t end);
};

/// The end of a child, or of main, that never returns from where its objects are.
[[noreturn]] void leave_process(Ending ending) {
  if (ending == Ending::at_once) _exit(0);
  std::exit(0);
}

void write_all(int descriptor, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t now = write(descriptor, text.data() + done, text.size() - done);
    if (now <= 0) return;
    done += static_cast<std::size_t>(now);
  }
}

std::string joined(const std::map<std::size_t, std::string>& lines) {
  std::string out;
  for (const auto& [number, line] : lines) out += (out.empty() ? "" : ", ") + line;
  return out;
}

void Runner::run_other(const std::shared_ptr<Runner>& other) {
  other->run();
  const std::lock_guard lock(mutex);
  lines.merge(other->lines);
  if (other->worker().keeps) kept.emplace(other->number, other);
}

/// What a process does that executes one worker. It stays until nobody holds the other end of
/// `stay`.
[[noreturn]] void run_child(const Program& program, std::size_t worker, int pipe, int stay) {
  auto runner = std::make_unique<Runner>(program, worker);
  if (const char* file = std::getenv(kStore); file && program.workers[worker].in_group) {
    const auto [rank, size] = rank_and_size(program, worker);
    runner->holdings->meet(std::make_unique<Peers>(file, rank, size));
  }
  runner->run();
  Left generator;
  const at::Generator& drawn = at::detail::getDefaultCPUGenerator();
  if (Left::has_drawn(drawn)) generator.add(drawn);
  write_all(pipe, joined(runner->lines) + ", {\"generator\": \"" + generator.text() + "\"}");
  close(pipe);
  char none = 0;
  while (stay >= 0 && read(stay, &none, 1) > 0) continue;
  if (!program.workers[worker].keeps) runner.reset();
  leave_process(program.ending == Ending::at_once ? Ending::at_once : Ending::exits);
}

/// This program again, for one worker.
[[noreturn]] void execute_child(std::size_t worker, int pipe, int stay) {
  std::vector<std::string> words;
  std::ifstream file("/proc/self/cmdline");
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  words.insert(words.end(), {"--worker", std::to_string(worker), "--pipe", std::to_string(pipe),
                             "--stay", std::to_string(stay)});
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv("/proc/self/exe", pointers.data());
  _exit(127);
}

void Runner::spawn_child(const Instruction& instruction, std::size_t other) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t process = fork();
  if (process == 0) {
    close(ends[0]);
    close(stay_until);
    const Worker& child = program.workers[other];
    if (child.in_group) setenv(kStore, (folder + "/store").c_str(), 1);
    if (static_cast<Way>(instruction.i) == Way::forks) run_child(program, other, ends[1], stay);
    if (instruction.j == 1 || child.in_group)
      setenv("RANK", std::to_string(rank_and_size(program, other).first).c_str(), 1);
    execute_child(other, ends[1], stay);
  }
  close(ends[1]);
  children.push_back({process, ends[0]});
}

void Runner::spawn_children(const Instruction& instruction) {
  int ends[2];
  char pattern[] = "/tmp/random_run-XXXXXX";
  if (pipe(ends) != 0 || !mkdtemp(pattern)) std::abort();
  stay = ends[0];
  stay_until = ends[1];
  folder = pattern;
  for (const int one : instruction.list) spawn_child(instruction, static_cast<std::size_t>(one));
  close(stay);
}

void Runner::spawn(const Instruction& instruction) {
  const auto way = static_cast<Way>(instruction.i);
  if (way == Way::forks || way == Way::processes) {
    spawn_children(instruction);
    return;
  }
  if (way == Way::queue) queue = std::make_unique<Queue>();
  // In the order of their numbers, whatever the order in which they start.
  std::map<int, std::shared_ptr<Runner>> others;
  for (const int one : instruction.list) others[one] = nullptr;
  for (auto& [one, other] : others) {
    other = std::make_shared<Runner>(program, static_cast<std::size_t>(one));
    other->prepare(*holdings);
  }
  if (way == Way::parallel_for) {
    const auto count = static_cast<std::int64_t>(instruction.list.size());
    at::set_num_threads(static_cast<int>(count));
    at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        run_other(others.at(instruction.list[static_cast<std::size_t>(i)]));
    });
    at::set_num_threads(1);
    return;
  }
  for (const int one : instruction.list) {
    auto task = [this, other = std::move(others.at(one))]() mutable {
      run_other(other);
      other.reset();
    };
    if (way == Way::threads) threads.emplace_back(std::move(task));
    if (way == Way::launch) tasks.push_back(launch(std::move(task)));
    if (way == Way::queue) tasks.push_back(queue->add(std::move(task)));
  }
}

void Runner::join() {
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  for (std::future<void>& task : tasks) task.get();
  tasks.clear();
  queue.reset();
  std::vector<std::string> left;
  for (const Child& child : children) {
    left.emplace_back();
    char buffer[4096];
    for (ssize_t got; (got = read(child.pipe, buffer, sizeof buffer)) > 0;)
      left.back().append(buffer, static_cast<std::size_t>(got));
    close(child.pipe);
  }
  if (!children.empty()) {
    close(stay_until);
    std::filesystem::remove_all(folder);
  }
  for (std::size_t i = 0; i < children.size(); ++i) {
    int status = 0;
    waitpid(children[i].process, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      left[i] += ", {\"ended\": " + std::to_string(status) + "}";
    // Children come after the threads of this process, in the order in which they were started.
    lines.emplace(1000 + lines.size(), left[i]);
  }
  children.clear();
}

void Runner::run_section(std::size_t first, std::size_t end) {
  const auto& work = worker().work;
  const auto task = [&] {
    for (std::size_t place = first; place < end; ++place) holdings->run(work[place]);
  };
  switch (worker().sections) {
    case Way::launch:
      launch(task).get();
      return;
    case Way::queue:
      if (!queue) queue = std::make_unique<Queue>();
      queue->add(task).get();
      return;
    default:
      std::thread(task).join();
  }
}

/// What its parent executes before it starts.
void Runner::prepare(Holdings& parent) {
  const std::size_t count = prepared_instructions(worker());
  for (; next < count; ++next) {
    const Instruction& instruction = worker().work[next];
    if (instruction.act == Act::take_square)
      holdings->take_square(instruction, parent);
    else
      run_one(instruction);
  }
}

void Runner::use_result(const Instruction& instruction) {
  const auto ended = [this](int other) -> Holdings* {
    const auto found = kept.find(static_cast<std::size_t>(other));
    return found == kept.end() ? nullptr : found->second->holdings.get();
  };
  if (instruction.act == Act::average) {
    std::vector<Holdings*> others;
    for (const int other : instruction.list) others.push_back(ended(other));
    return holdings->average(instruction, others);
  }
  Holdings* const other = ended(instruction.i);
  if (!other) return;
  if (instruction.act == Act::add_result) return holdings->add_result(instruction, *other);
  holdings->adopt_model(instruction, *other);
  const auto ended_number = static_cast<std::size_t>(instruction.i);
  lines[ended_number] = other->leave(dies(program, ended_number));  // no longer with that model
}

void Runner::run_one(const Instruction& instruction) {
  switch (instruction.act) {
    case Act::spawn:
      return spawn(instruction);
    case Act::join:
      return join();
    case Act::add_result:
    case Act::adopt_model:
    case Act::average:
      return holdings->attempt(instruction, [&] { use_result(instruction); });
    default:
      return holdings->run(instruction);
  }
}

void Runner::run() {
  const auto& work = worker().work;
  while (next < work.size()) {
    const int section = work[next].section;
    if (section == 0) {
      run_one(work[next++]);
      continue;
    }
    const std::size_t first = next;
    while (next < work.size() && work[next].section == section) ++next;
    run_section(first, next);
  }
  queue.reset();
  lines.emplace(number, holdings->leave(dies(program, number)));
}

void print_left(const Runner& main) {
  Left generator, total;
  const at::Generator& drawn = at::detail::getDefaultCPUGenerator();
  if (Left::has_drawn(drawn)) generator.add(drawn);
  const std::string rest =
      "\"generator\": \"" + generator.text() + "\", \"workers\": [" + joined(main.lines) + "]}\n";
  total.add(rest.data(), rest.size());
  write_all(STDOUT_FILENO, "{\"total\": \"" + total.text() + "\", " + rest);
}

void run_in_scope(const Program& program, bool leaves) {
  Runner main(program, 0);
  main.run();
  print_left(main);
  if (leaves) leave_process(program.ending);
}

void run_program(const Program& program) {
  switch (program.ending) {
    case Ending::returns:
      return run_in_scope(program, false);
    case Ending::exits:
    case Ending::at_once:
      return run_in_scope(program, true);
    case Ending::leaks: {
      auto* const main = new Runner(program, 0);
      main->run();
      return print_left(*main);
    }
    case Ending::statics: {
      static Runner main(program, 0);
      main.run();
      return print_left(main);
    }
  }
}

}  // namespace
}  // namespace judge

int main(int argc, char** argv) {
  std::uint64_t seed = 1, number = 0, worker = 0;
  int pipe = -1, stay = -1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const auto value = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--seed") == 0)
      seed = value;
    else if (std::strcmp(argv[i], "--mutate") == 0)
      number = value;
    else if (std::strcmp(argv[i], "--worker") == 0)
      worker = value;
    else if (std::strcmp(argv[i], "--pipe") == 0)
      pipe = static_cast<int>(value);
    else if (std::strcmp(argv[i], "--stay") == 0)
      stay = static_cast<int>(value);
    else
      return std::fprintf(stderr, "random_run: unknown argument %s\n", argv[i]), 2;
  }
  // Outlives everything that refers to it, static objects too.
  auto* const program = new judge::Program(judge::make_program(seed));
  judge::mutate(*program, number);
  at::set_num_threads(1);
  torch::manual_seed(program->seed + worker);
  if (worker > 0) judge::run_child(*program, worker, pipe, stay);
  judge::run_program(*program);
}
