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
  std::vector<std::unique_ptr<Runner>> kept;  ///< Workers whose holdings outlive their threads.
  std::map<std::size_t, std::string> lines;   ///< What workers have left, by number.
  std::mutex mutex;
  std::vector<std::thread> threads;
  std::vector<std::future<void>> tasks;
  std::vector<Child> children;
  std::unique_ptr<Queue> queue;

  Runner(const Program& whole, std::size_t which)
      : program(whole),
        number(which),
        holdings(std::make_unique<Holdings>(whole.workers[which], whole.seed)) {}

  [[nodiscard]] const Worker& worker() const { return program.workers[number]; }

  void run();
  void spawn(const Instruction& instruction);
  void run_other(std::size_t other);
  [[noreturn]] void run_child(std::size_t other, int pipe) const;
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

void Runner::run_other(std::size_t other) {
  auto runner = std::make_unique<Runner>(program, other);
  runner->run();
  const std::lock_guard lock(mutex);
  lines.merge(runner->lines);
  if (program.workers[other].keeps) kept.push_back(std::move(runner));
}

void Runner::run_child(std::size_t other, int pipe) const {
  const Ending ending = program.ending == Ending::at_once ? Ending::at_once : Ending::exits;
  auto runner = std::make_unique<Runner>(program, other);
  runner->run();
  Left generator;
  generator.add(at::detail::getDefaultCPUGenerator());
  write_all(pipe, joined(runner->lines) + ", {\"generator\": \"" + generator.text() + "\"}");
  close(pipe);
  if (program.workers[other].keeps) leave_process(ending);
  runner.reset();
  leave_process(ending);
}

void Runner::spawn(const Instruction& instruction) {
  const auto way = static_cast<Way>(instruction.i);
  if (way == Way::queue) queue = std::make_unique<Queue>();
  if (way == Way::parallel_for) {
    const auto count = static_cast<std::int64_t>(instruction.list.size());
    at::set_num_threads(static_cast<int>(count));
    at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        run_other(static_cast<std::size_t>(instruction.list[static_cast<std::size_t>(i)]));
    });
    at::set_num_threads(1);
    return;
  }
  for (const int one : instruction.list) {
    const auto other = static_cast<std::size_t>(one);
    const auto task = [this, other] { run_other(other); };
    if (way == Way::threads) threads.emplace_back(task);
    if (way == Way::launch) tasks.push_back(launch(task));
    if (way == Way::queue) tasks.push_back(queue->add(task));
    if (way != Way::forks) continue;
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    const pid_t process = fork();
    if (process == 0) {
      close(ends[0]);
      run_child(other, ends[1]);
    }
    close(ends[1]);
    children.push_back({process, ends[0]});
  }
}

void Runner::join() {
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  for (std::future<void>& task : tasks) task.get();
  tasks.clear();
  queue.reset();
  for (const Child& child : children) {
    std::string line;
    char buffer[4096];
    for (ssize_t got; (got = read(child.pipe, buffer, sizeof buffer)) > 0;)
      line.append(buffer, static_cast<std::size_t>(got));
    close(child.pipe);
    int status = 0;
    waitpid(child.process, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      line += ", {\"ended\": " + std::to_string(status) + "}";
    // Children come after the threads of this process, in the order in which they were started.
    lines.emplace(1000 + lines.size(), line);
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

void Runner::run() {
  const auto& work = worker().work;
  for (std::size_t place = 0; place < work.size();) {
    const int section = work[place].section;
    if (section > 0) {
      const std::size_t first = place;
      while (place < work.size() && work[place].section == section) ++place;
      run_section(first, place);
      continue;
    }
    const Instruction& instruction = work[place++];
    if (instruction.act == Act::spawn)
      spawn(instruction);
    else if (instruction.act == Act::join)
      join();
    else
      holdings->run(instruction);
  }
  queue.reset();
  lines.emplace(number, "{" + holdings->leave() + "}");
}

void print_left(const Runner& main) {
  Left generator, total;
  generator.add(at::detail::getDefaultCPUGenerator());
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
  std::uint64_t seed = 1, number = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--seed") == 0)
      seed = std::strtoull(argv[i + 1], nullptr, 10);
    else if (std::strcmp(argv[i], "--mutate") == 0)
      number = std::strtoull(argv[i + 1], nullptr, 10);
    else
      return std::fprintf(stderr, "random_run: unknown argument %s\n", argv[i]), 2;
  }
  // Outlives everything that refers to it, static objects too.
  auto* const program = new judge::Program(judge::make_program(seed));
  judge::mutate(*program, number);
  at::set_num_threads(1);
  torch::manual_seed(program->seed);
  judge::run_program(*program);
}
