#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>

#include "ulpscope/replay.hpp"

namespace ulpscope::replay {

/// Replays ops in a separate process. It is started at the first op, and again if an op has ended
/// it: a damaged dump can make an op crash or never end.
class ReplayProcess : public Replayer {
 public:
  explicit ReplayProcess(std::filesystem::path program, ReplayStart start = {})
      : program_(std::move(program)), how_(std::move(start)) {}
  ~ReplayProcess() override;

  [[nodiscard]] ReplayAnswer replay(const ReplayRequest& request) override;

 private:
  [[nodiscard]] bool start();
  void stop() noexcept;
  [[nodiscard]] std::string stop_and_say_why();
  [[nodiscard]] bool await(short events) const noexcept;
  [[nodiscard]] bool send(const void* bytes, std::size_t size) noexcept;
  [[nodiscard]] bool receive(void* bytes, std::size_t size) noexcept;

  std::filesystem::path program_;
  ReplayStart how_;
  pid_t process_ = -1;
  int socket_ = -1;
  int starts_ = 0;
};

}  // namespace ulpscope::replay
