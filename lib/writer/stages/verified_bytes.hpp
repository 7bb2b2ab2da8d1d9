#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

namespace ulpscope::writer {

/// Picks out of one process's messages how many bytes its inputs were digested again for: the
/// capture library says so at its end, as the setting `capture.verified_bytes`.
class VerifiedBytes {
 public:
  void read(std::uint32_t lane, std::span<const std::byte> message);
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::map<std::uint32_t, std::uint32_t> key_;  ///< lane -> string id of the setting's name
  std::uint64_t bytes_ = 0;
};

}  // namespace ulpscope::writer
