#include "capture/drawn_generators.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "capture/memory.hpp"
#include "capture/recorder.hpp"
#include "capture/thread.hpp"

namespace ulpscope::capture {
namespace {

constexpr std::size_t kMostMoved = 4096;
constexpr std::size_t kFirstSweep = 16;

using Words = std::pmr::string;

struct DrawnGenerator {
  /// Keeps the object, and so its last state, when the program has released it.
  c10::weak_intrusive_ptr<c10::GeneratorImpl> generator;
  RngFingerprint left;         ///< by its last op
  std::uint64_t number = 0;    ///< 0: the main thread's ops have not drawn from it
  bool is_of_threads = false;  ///< ops of other threads have
};

/// The state in which the last op has left a generator, and the one in which the program has.
struct States {
  RngFingerprint of_op;
  RngFingerprint of_program;

  [[nodiscard]] bool known() const { return of_op.known && of_program.known; }
  [[nodiscard]] bool may_have_moved() const { return !known() || of_op.state != of_program.state; }
};

using StatesByNumber = std::pmr::map<std::uint64_t, States>;

struct DrawnGenerators {
  std::mutex mutex;
  std::uint64_t generation = 0;  ///< of the recording
  std::pmr::unordered_map<const void*, DrawnGenerator> by_address{&process_memory()};
  StatesByNumber gone{&process_memory()};
  std::pmr::set<std::uint64_t> sent{&process_memory()};  ///< at an earlier end
  std::uint64_t numbers = 0;
  std::size_t sweep_at = kFirstSweep;
  bool left_out = false;

  void begin_recording() {
    if (generation == capture::generation()) return;
    generation = capture::generation();
    by_address.clear();
    gone.clear();
    sent.clear();
    numbers = 0;
    sweep_at = kFirstSweep;
    left_out = false;
  }

  /// Lets go of those that the program has released.
  void sweep() {
    std::erase_if(by_address, [this](const auto& entry) {
      const DrawnGenerator& drawn = entry.second;
      if (!drawn.generator.expired()) return false;
      if (drawn.number != 0) keep_last_state(drawn);
      return true;
    });
    sweep_at = std::max(kFirstSweep, 2 * by_address.size());
  }

  void keep_last_state(const DrawnGenerator& drawn) {
    const States states = states_of(drawn);
    if (gone.size() <= kMostMoved && states.may_have_moved()) gone.emplace(drawn.number, states);
  }

  [[nodiscard]] static States states_of(const DrawnGenerator& drawn) {
    if (drawn.is_of_threads) return {};
    return {.of_op = drawn.left, .of_program = last_fingerprint(drawn.generator)};
  }

  DrawnGenerator& at(const at::Generator& generator, bool in_main) {
    auto found = by_address.find(generator.unsafeGetGeneratorImpl());
    if (found == by_address.end()) {
      if (by_address.size() >= sweep_at) sweep();
      const c10::weak_intrusive_ptr<c10::GeneratorImpl> weak(generator.getIntrusivePtr());
      found = by_address
                  .emplace(generator.unsafeGetGeneratorImpl(),
                           DrawnGenerator{.generator = weak, .left = {}})
                  .first;
    }
    DrawnGenerator& drawn = found->second;
    if (in_main && drawn.number == 0) drawn.number = ++numbers;
    return drawn;
  }
};

DrawnGenerators& drawn_generators() {
  static DrawnGenerators& instance = immortal<DrawnGenerators>();
  return instance;
}

/// One that ops draw from that are given none.
bool is_default(const at::Generator& generator) {
  if (generator.device().is_cpu()) return generator == at::detail::getDefaultCPUGenerator();
  try {
    return generator == at::globalContext().defaultGenerator(generator.device());
  } catch (...) {
    return false;
  }
}

void append(Words& words, std::uint64_t number, int base, std::size_t width) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), number, base).ptr;
  const auto count = static_cast<std::size_t>(end - digits.begin());
  words.append(width - std::min(width, count), '0');
  words.append(digits.begin(), end);
}

/// "seed 4, state c0ffee...", or "seed 4" if nothing was drawn since.
void append(Words& words, const RngFingerprint& fingerprint) {
  words += "seed ";
  append(words, fingerprint.seed, 10, 0);
  if (fingerprint.fresh) return;
  words += ", state ";
  append(words, fingerprint.state.high, 16, 16);
  append(words, fingerprint.state.low, 16, 16);
}

void send(Thread& thread, std::uint64_t number, const States& states) {
  Words key("end.generator.", &process_memory());
  append(key, number, 10, 0);
  Words words{&process_memory()};  // empty: not any more, if it had moved at an earlier end
  if (!states.known()) {
    words = "not known";
  } else if (states.may_have_moved()) {
    append(words, states.of_op);
    words += " -> ";
    append(words, states.of_program);
  }
  thread.send_environment(key, words);
}

}  // namespace

void note_drawn(const at::Generator& generator, const RngFingerprint& left) {
  if (!generator.defined() || is_default(generator)) return;
  const bool in_main = ::getpid() == ::gettid();
  DrawnGenerators& all = drawn_generators();
  const std::lock_guard guard(all.mutex);
  all.begin_recording();
  DrawnGenerator& drawn = all.at(generator, in_main);
  drawn.left = left;
  drawn.is_of_threads = drawn.is_of_threads || !in_main;
}

void send_moved_generators(Thread& thread) {
  DrawnGenerators& all = drawn_generators();
  const std::lock_guard guard(all.mutex);
  all.begin_recording();
  if (all.left_out || all.numbers == 0) return;
  StatesByNumber states(all.gone, &process_memory());
  for (const auto& [address, drawn] : all.by_address)
    if (drawn.number != 0) states.emplace(drawn.number, DrawnGenerators::states_of(drawn));
  std::erase_if(states, [&](const auto& one) {
    return !one.second.may_have_moved() && !all.sent.contains(one.first);
  });
  Words count{&process_memory()};  // empty: more have moved than are sent
  if (states.size() <= kMostMoved) append(count, all.numbers, 10, 0);
  thread.send_environment("end.generators", count);
  if (count.empty()) return;
  for (const auto& [number, of_generator] : states) {
    send(thread, number, of_generator);
    all.sent.insert(number);
  }
}

void leave_out_generators() {
  DrawnGenerators& all = drawn_generators();
  const std::lock_guard guard(all.mutex);
  all.begin_recording();
  all.left_out = true;
}

void lock_drawn_generators() { drawn_generators().mutex.lock(); }
void unlock_drawn_generators() { drawn_generators().mutex.unlock(); }

}  // namespace ulpscope::capture
