#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "device/batch.hpp"

/// The packed bytes of a value of any layout.
namespace ulpscope::device {

ULPSCOPE_HOST_DEVICE inline const Item* items_of(const Batch& batch) {
  return batch.items != nullptr ? batch.items : batch.own_items.data();
}

ULPSCOPE_HOST_DEVICE inline const Loop* loops_of(const Batch& batch, const Item& item) {
  return (batch.loops != nullptr ? batch.loops : batch.own_loops.data()) + item.first_loop;
}

/// Where a run of adjacent bytes begins.
ULPSCOPE_HOST_DEVICE inline const std::byte* run_at(const Item& item, const Loop* loops,
                                                    std::uint64_t run) {
  std::int64_t offset = 0;
  for (unsigned level = item.loops; level-- > 0;) {
    const Loop& loop = loops[level];
    const std::uint64_t turns = loop.count.quotient(run);
    offset += static_cast<std::int64_t>(run - turns * loop.count.value()) * loop.stride;
    run = turns;
  }
  return item.data + offset;
}

template <class Unit>
ULPSCOPE_HOST_DEVICE std::uint64_t load_as(const std::byte* from) {
#if defined(__CUDA_ARCH__)
  return __ldg(reinterpret_cast<const Unit*>(from));
#else
  Unit unit;
  std::memcpy(&unit, from, sizeof(unit));
  return unit;
#endif
}

ULPSCOPE_HOST_DEVICE inline std::uint64_t load_unit(const std::byte* from, unsigned unit) {
  switch (unit) {
    case 8:
      return load_as<unsigned long long>(from);
    case 4:
      return load_as<unsigned int>(from);
    case 2:
      return load_as<unsigned short>(from);
    default:
      return load_as<unsigned char>(from);
  }
}

/// `count` packed bytes from `position` on, at most 16, with zeros after them.
ULPSCOPE_HOST_DEVICE inline Piece gather(const Item& item, const Loop* loops,
                                         std::uint64_t position, unsigned count) {
  const std::uint64_t bits = item.unit | position | count;
  const auto unit = static_cast<unsigned>(bits & (0 - bits));
  std::uint64_t run = item.run.quotient(position);
  std::uint64_t within = position - run * item.run.value();
  const std::byte* from = run_at(item, loops, run) + within;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (unsigned done = 0; done < count; done += unit) {
    if (within == item.run.value()) {
      within = 0;
      from = run_at(item, loops, ++run);
    }
    const std::uint64_t loaded = load_unit(from, unit) << (8 * (done % 8));
    low |= done < 8 ? loaded : 0;
    high |= done < 8 ? 0 : loaded;
    from += unit;
    within += unit;
  }
  return {low, high};
}

}  // namespace ulpscope::device
