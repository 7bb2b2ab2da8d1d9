#include "capture/step_window.hpp"

#include <algorithm>
#include <memory_resource>
#include <mutex>
#include <vector>

#include "capture/memory.hpp"
#include "capture/module_calls.hpp"
#include "capture/op_observer.hpp"
#include "capture/recorder.hpp"
#include "capture/storage_table.hpp"

namespace ulpscope::capture {

namespace detail {
std::atomic<bool> idle_switch{false};
std::atomic<bool> full_steps_switch{true};
}  // namespace detail

namespace {

constexpr std::int64_t kObservedBefore = 1;
constexpr std::int64_t kObservedAfter = 2;

using Numbers = std::pmr::vector<std::uint64_t>;

bool contains(const Numbers& numbers, std::uint64_t number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

struct Window {
  std::mutex mutex;
  bool bounded = false;
  bool explicit_steps = false;
  bool without_root = false;  ///< an optimizer has stepped before any module's forward
  std::int64_t least = -1;    ///< the current step is at least this, and at most `most`
  std::int64_t most = -1;
  std::uint32_t first_module = 0;
  Numbers known{&process_memory()};    ///< optimizers that have ever stepped
  Numbers stepped{&process_memory()};  ///< those that have stepped since the step began
};

Window& window() {
  static Window& instance = immortal<Window>();
  return instance;
}

/// A range of steps, closed at both ends.
struct Range {
  std::uint64_t first;
  std::uint64_t last;

  [[nodiscard]] bool bounded() const { return first > 0 || last != ~std::uint64_t{0}; }
};

Range wanted_steps() { return {settings().first_step, settings().last_step}; }
Range full_steps() { return {settings().first_full_step, settings().last_full_step}; }

/// Whether the current step may be one of the range, or is close to it.
bool may_be_in(const Window& steps, const Range& range) {
  const auto number = [](std::uint64_t step) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(step, std::uint64_t{1} << 62));
  };
  const std::int64_t first = number(range.first);
  const std::int64_t last = number(range.last);
  if (last < first) return steps.least <= kObservedAfter;  // what comes before the first step
  return (first == 0 || steps.most >= first - kObservedBefore) &&
         steps.least <= last + kObservedAfter;
}

void apply(const Window& steps) {
  detail::full_steps_switch.store(may_be_in(steps, full_steps()), std::memory_order_relaxed);
  // Steps of a program that may call no module are counted by its ops.
  const bool counts_ops = steps.least < 0 || steps.without_root;
  const bool rest = !counts_ops && !may_be_in(steps, wanted_steps());
  if (rest == idle()) return;
  if (!rest) {
    // What happened in between was not seen.
    const std::lock_guard guard(storages());
    storages().forget();
  }
  if (!rest) tell_roots_again();
  if (rest)
    remove_op_observer();
  else
    install_op_observer();
  detail::idle_switch.store(rest, std::memory_order_relaxed);
}

}  // namespace

void begin_step_window() {
  Window& steps = window();
  const std::lock_guard guard(steps.mutex);
  steps.explicit_steps = steps.without_root = false;
  steps.least = steps.most = -1;
  steps.known.clear();
  steps.stepped.clear();
  steps.bounded = wanted_steps().bounded() || full_steps().bounded();
  detail::idle_switch.store(false, std::memory_order_relaxed);
  detail::full_steps_switch.store(true, std::memory_order_relaxed);
  if (steps.bounded) apply(steps);
}

void step_window_sees_forward(std::uint32_t module) {
  Window& steps = window();
  if (!steps.bounded) return;
  const std::lock_guard guard(steps.mutex);
  if (steps.explicit_steps) return;
  if (steps.least < 0) {
    steps.least = steps.most = 0;
    steps.first_module = module;
  } else if (steps.known.empty()) {
    // Without an optimizer every forward may be a step; with one to come they are one.
    if (module == steps.first_module) ++steps.most;
  } else if (steps.stepped.size() == steps.known.size()) {
    ++steps.least;
    ++steps.most;
    steps.stepped.clear();
  } else {
    return;
  }
  apply(steps);
}

void step_window_sees_optimizer(std::uint64_t optimizer) {
  Window& steps = window();
  if (!steps.bounded) return;
  const std::lock_guard guard(steps.mutex);
  if (steps.least < 0) {
    steps.least = steps.most = 0;
    steps.without_root = true;
  }
  if (!contains(steps.known, optimizer)) {
    // It steps for the first time: the forward before it did not begin a step.
    if (!steps.known.empty()) steps.least = std::max<std::int64_t>(steps.least - 1, 0);
    steps.known.push_back(optimizer);
  } else if (contains(steps.stepped, optimizer) && !steps.explicit_steps) {
    // Again without an observed forward: it runs one in its closure.
    ++steps.least;
    ++steps.most;
    steps.stepped.clear();
    apply(steps);
  }
  if (!contains(steps.stepped, optimizer)) steps.stepped.push_back(optimizer);
}

void step_window_sees_step() {
  Window& steps = window();
  if (!steps.bounded) return;
  const std::lock_guard guard(steps.mutex);
  steps.explicit_steps = true;
  steps.least = ++steps.most;
  apply(steps);
}

void lock_step_window() { window().mutex.lock(); }
void unlock_step_window() { window().mutex.unlock(); }

}  // namespace ulpscope::capture
