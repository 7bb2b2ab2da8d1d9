#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "ulpscope/run.hpp"

namespace ulpscope::tensors {

/// Bytes in memory, and what they belong to.
struct HeldBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// Bytes that hold one or more tensors: a part of a file, a member of an archive.
class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// From front to back. @pre the range is inside of size().
  [[nodiscard]] virtual std::unique_ptr<ContentReader> stream(std::uint64_t offset,
                                                              std::uint64_t bytes) const = 0;
  /// The most bytes that hold() takes.
  [[nodiscard]] virtual std::uint64_t most_held() const { return std::uint64_t{1} << 32; }
  /// For access in any order. By default they are read into memory.
  /// @pre the range is inside of size(), and no larger than most_held().
  [[nodiscard]] virtual HeldBytes hold(std::uint64_t offset, std::uint64_t bytes) const;
};

}  // namespace ulpscope::tensors
