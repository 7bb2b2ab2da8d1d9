#pragma once

#include <filesystem>

#include "ring/descriptor.hpp"

namespace ulpscope::ring {

/// Notices processes that cannot introduce themselves, by their opening a file beside the socket.
class ShutOut {
 public:
  /// Creates the file. If that is not possible, the writer does not notice.
  explicit ShutOut(const std::filesystem::path& socket);
  ShutOut(const ShutOut&) = delete;
  ShutOut& operator=(const ShutOut&) = delete;
  ~ShutOut();

  /// Whether any process has opened it so far.
  [[nodiscard]] bool anybody() const noexcept;

 private:
  std::filesystem::path file_;
  Descriptor watch_;  ///< readable when a process has
};

}  // namespace ulpscope::ring
