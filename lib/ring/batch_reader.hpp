#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "ring/ring.hpp"

namespace ulpscope::ring {

/// What was copied out of a ring: whole messages, or why there will never be any more.
struct Batch {
  std::span<const std::byte> messages;  ///< empty when the ring is
  std::string_view damage;              ///< part of a sentence; empty while the ring is valid
};

/// Copies whole messages out of rings into private memory, which every call reuses.
class BatchReader {
 public:
  explicit BatchReader(std::size_t batch_bytes) : batch_bytes_(batch_bytes), buffer_(batch_bytes) {}

  /// The oldest messages of a ring: as many as fit into a batch, at least one. They stay in the
  /// ring until they are released.
  [[nodiscard]] Batch next(Consumer& consumer);

 private:
  std::size_t batch_bytes_;
  std::vector<std::byte> buffer_;  ///< grows for a message that is longer than a batch
};

}  // namespace ulpscope::ring
