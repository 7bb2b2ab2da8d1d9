#include "capture/saved_options.hpp"

#include <torch/optim.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/memory.hpp"
#include "capture/object_numbers.hpp"
#include "capture/optimizer_options.hpp"
#include "capture/thread.hpp"

namespace ulpscope::capture {
namespace {

constexpr std::size_t kMostNoted = 1024;  // for each of the main thread and all others

using Words = std::pmr::string;

/// An optimizer that has stepped.
struct Stepped {
  std::pmr::vector<std::byte> options{&process_memory()};  ///< at its last step
  Words words{&process_memory()};                          ///< the same, a line each
  Words key{&process_memory()};                            ///< of its settings; empty: none
};

struct SteppedOptimizers {
  std::mutex mutex;
  std::pmr::unordered_map<std::uint64_t, Stepped> by_number{&process_memory()};
  std::size_t of_main_thread = 0;
  std::size_t of_others = 0;

  void name(Stepped& optimizer) {
    const bool in_main = ::getpid() == ::gettid();
    const std::size_t number = in_main ? of_main_thread++ : of_others++;
    if (number > kMostNoted) return;
    optimizer.key = "saved.optimizer.";
    if (!in_main) optimizer.key += 't';
    if (in_main || number < kMostNoted) optimizer.key += std::to_string(number);
  }
};

SteppedOptimizers& stepped() {
  static SteppedOptimizers& instance = immortal<SteppedOptimizers>();
  return instance;
}

/// Takes the first line, or what stands before `separator`, off the text.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view first = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return first;
}

}  // namespace

void note_step_options(std::string_view optimizer_class, const torch::optim::Optimizer& optimizer,
                       std::span<const std::byte> options) {
  const std::uint64_t number = object_number(&optimizer);
  const std::lock_guard guard(stepped().mutex);
  const auto [found, is_new] = stepped().by_number.try_emplace(number);
  Stepped& known = found->second;
  if (is_new) stepped().name(known);
  if (known.key.empty() || (!is_new && std::ranges::equal(known.options, options))) return;
  known.options.assign(options.begin(), options.end());
  known.words.clear();
  describe_options(optimizer_class, optimizer, known.words);
}

void send_saved_options(Thread& thread, std::string_view optimizer_class,
                        const torch::optim::Optimizer& optimizer) {
  const std::uint64_t number = object_number(&optimizer);
  Words now{&process_memory()};
  describe_options(optimizer_class, optimizer, now);
  const std::lock_guard guard(stepped().mutex);
  const auto found = stepped().by_number.find(number);
  if (found == stepped().by_number.end() || found->second.key.empty()) return;
  const Stepped& known = found->second;
  thread.send_environment(known.key, optimizer_class);
  std::string_view names = option_names(optimizer_class);
  std::string_view before = known.words;
  std::string_view after = now;
  while (!before.empty() && !after.empty()) {
    const std::string_view name = take(names, ',');
    const std::string_view old_value = take(before, '\n');
    const std::string_view new_value = take(after, '\n');
    Words key(known.key, &process_memory());
    key.append(".").append(name);
    Words change{&process_memory()};  // empty: not any more, if it was when it was saved before
    if (old_value != new_value) change.append(old_value).append(" -> ").append(new_value);
    thread.send_environment(key, change);
  }
}

void lock_saved_options() { stepped().mutex.lock(); }
void unlock_saved_options() { stepped().mutex.unlock(); }

}  // namespace ulpscope::capture
