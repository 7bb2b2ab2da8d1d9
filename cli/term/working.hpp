#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace ulpscope::cli {

/// What work is counted in.
enum class WorkUnit : std::uint8_t { events, bytes };

/// The progress of work at one time, in words: "comparing: 12 s", and, if the total is known,
/// "comparing: 12 s, 45%, 1,200,000 events/s, 15 s left".
struct WorkState {
  std::string what;
  std::chrono::duration<double> since_start{};  ///< of all the work
  std::chrono::duration<double> in_stage{};
  WorkUnit unit = WorkUnit::events;
  std::uint64_t done = 0;  ///< of the stage
  std::uint64_t all = 0;   ///< 0: not known
};
[[nodiscard]] std::string words(const WorkState& state);

/// While it lives the terminal shows what is being done, for how long, and the progress. After the
/// first second, on standard error, erased at the end; see Progress.
class Working {
 public:
  explicit Working(std::string what);
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;
  ~Working() { end(); }

  /// Takes the line away.
  void end();
  /// From here on there are `all` units of work.
  void begin(std::string what, WorkUnit unit, std::uint64_t all);
  /// `more` units are done. May be called often.
  void add(std::uint64_t more) noexcept { done_.fetch_add(more, std::memory_order_relaxed); }
  /// `done` units are done in all.
  void reach(std::uint64_t done) noexcept { done_.store(done, std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;

  void run();

  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  WorkState state_;
  Clock::time_point stage_start_ = start_;
  std::atomic<std::uint64_t> done_ = 0;
  std::thread thread_;
};

}  // namespace ulpscope::cli
