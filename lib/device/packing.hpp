#pragma once

#include <cstdint>

#include "device/gather.hpp"

/// The packed bytes of a value of any layout, written out.
namespace ulpscope::device {

inline constexpr unsigned kPackThreads = 256;

[[nodiscard]] inline std::uint64_t pieces_of(const Item& item) noexcept {
  return (item.bytes + sizeof(Piece) - 1) / sizeof(Piece);
}

/// Writes one piece of the first value of a batch; the last one has zeros after it.
ULPSCOPE_HOST_DEVICE inline void pack_piece(const Batch& batch, Piece* to, std::uint64_t piece) {
  const Item& item = *items_of(batch);
  const std::uint64_t position = piece * sizeof(Piece);
  if (position >= item.bytes) return;
  const std::uint64_t left = item.bytes - position;
  const auto count = static_cast<unsigned>(left < sizeof(Piece) ? left : sizeof(Piece));
  to[piece] = gather(item, loops_of(batch, item), position, count);
}

}  // namespace ulpscope::device
