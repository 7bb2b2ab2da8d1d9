#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dump/recording.hpp"

namespace ulpscope::writer {

/// What a process sends before its first event: names, settings, threads. It is kept until then,
/// because a process that computes nothing, such as a launcher, is not a rank. Its end, if it
/// leaves nothing, is not such an event.
class BeforeFirstEvent {
 public:
  void open_lane(std::uint32_t lane, bool is_main, std::string_view thread_name);
  void close_lane(std::uint32_t lane);
  /// False if there is an event among the messages, or more than is worth keeping: the process
  /// is a rank, and nothing was taken.
  [[nodiscard]] bool take(std::uint32_t lane, std::span<const std::byte> messages);

  /// Delivers everything, in order, and discards it.
  void give(dump::RankRecording& recording);

 private:
  struct Part {
    enum class Kind : std::uint8_t { open_lane, messages, close_lane };
    Kind kind;
    std::uint32_t lane;
    bool is_main = false;
    std::string thread_name = {};
    std::vector<std::byte> messages = {};
  };

  std::vector<Part> parts_;
  std::size_t bytes_ = 0;
};

}  // namespace ulpscope::writer
