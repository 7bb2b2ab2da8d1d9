#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "cli/check/sighting.hpp"
#include "ulpscope/run.hpp"
#include "writer/reference_values.hpp"
#include "writer/session.hpp"

namespace ulpscope::cli {

/// In the process that records: notices values that the reference lacks as they come, and has what
/// was recorded so far compared by the process at the other end of a socket. The program is held
/// meanwhile, if it is to be stopped where it diverges.
class RecordingWatch {
 public:
  struct Options {
    std::filesystem::path dump;
    std::filesystem::path snapshot;  ///< where it is put; whoever has compared it removes it
    int socket = -1;
    bool hold = false;
  };

  RecordingWatch(std::unique_ptr<Run> reference, Options options);

  void see(const writer::BegunSteps& steps, std::span<const std::byte> messages);
  /// How long nothing need be done.
  std::chrono::milliseconds after_round(writer::Session& session);

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t { watching, asking, looking_again, done };

  void ask(writer::Session& session);
  void take_answer();
  void resume() const;

  std::unique_ptr<Run> reference_;
  writer::ReferenceValues values_;
  Options options_;
  State state_ = State::watching;
  bool seen_ = false;
  std::int64_t step_ = kSetup;
  Clock::time_point asked_at_;
  Clock::time_point not_before_ = Clock::now();
  Clock::duration patience_;  ///< for which the program may be held for nothing
  Clock::duration slice_{};   ///< for which it runs until the next look at the same difference
};

}  // namespace ulpscope::cli
