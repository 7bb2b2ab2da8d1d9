#pragma once

#include <string>

namespace ulpscope::capture {
struct ProgramCalls;
}

namespace ulpscope::program {

/// The capture library that matches this process's LibTorch, loaded at its first use; the one that
/// `ulpscope record` has loaded, if it did.
class CaptureLibrary {
 public:
  /// @throws Error with ErrorCode::io if none matches.
  [[nodiscard]] static CaptureLibrary open();

  [[nodiscard]] const capture::ProgramCalls& calls() const noexcept { return *calls_; }

  /// Begins to record for the writer that listens there.
  /// @throws Error with ErrorCode::io if it does not answer.
  void start(const std::string& socket_path) const;

 private:
  CaptureLibrary(void* handle, const capture::ProgramCalls* calls)
      : handle_(handle), calls_(calls) {}

  void* handle_;
  const capture::ProgramCalls* calls_;
};

}  // namespace ulpscope::program
