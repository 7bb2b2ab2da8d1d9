#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>

#include "cli/check/held_processes.hpp"
#include "cli/check/sighting.hpp"
#include "writer/session.hpp"

namespace ulpscope::cli {

/// In the process that records: has what was recorded so far compared by the process at the other
/// end of a socket, whenever something was seen that the other run does not have. The program is
/// held meanwhile, if it is to be stopped where it diverges.
class Inquiry {
 public:
  struct Options {
    std::filesystem::path dump;
    std::filesystem::path snapshot;  ///< where it is put; whoever has compared it removes it
    int socket = -1;
    HeldProcesses* hold = nullptr;  ///< null: the program runs on
  };

  explicit Inquiry(Options options);

  /// Something was seen.
  void see() noexcept { seen_ = true; }
  /// Nothing need be looked for.
  [[nodiscard]] bool is_busy() const noexcept { return seen_ || state_ == State::done; }
  /// It holds the program.
  [[nodiscard]] bool is_asking() const noexcept { return state_ == State::asking; }
  [[nodiscard]] bool is_over() const noexcept { return state_ == State::done; }
  /// The recording has not begun.
  void report(const Trouble& trouble) const;
  void give_up() noexcept { state_ = State::done; }

  /// How long nothing need be done.
  std::chrono::milliseconds after_round(writer::Session& session);

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t { watching, asking, looking_again, done };

  void ask(writer::Session& session);
  void take_answer(writer::Session& session);
  [[nodiscard]] bool has_lost_comparer();
  void resume();

  Options options_;
  pid_t comparer_;
  State state_ = State::watching;
  bool seen_ = false;
  bool shows_ = false;  ///< because it was asked to
  Clock::time_point asked_at_;
  Clock::time_point not_before_ = Clock::now();
  Clock::duration patience_;  ///< for which the program may be held for nothing
  Clock::duration took_{};    ///< comparing, since nothing was found to differ last
  Clock::duration slice_{};   ///< for which it runs until the next look at the same difference
};

}  // namespace ulpscope::cli
