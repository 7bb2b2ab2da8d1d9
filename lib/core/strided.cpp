#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <type_traits>

#include "core/digest_kernel.hpp"
#include "core/walk.hpp"
#include "ulpscope/digest.hpp"

namespace ulpscope {
namespace {

using core::Order;
using core::Walk;

/// Gathers `count` runs of `run` bytes, `stride` bytes apart.
void gather_runs(std::byte* target, const std::byte* source, std::size_t count,
                 std::ptrdiff_t stride, std::size_t run) noexcept {
  const auto copy = [&](auto constant_run) {
    for (std::size_t i = 0; i < count; ++i, source += stride, target += constant_run)
      std::memcpy(target, source, constant_run);
  };
  // A copy of constant size is one load and one store.
  switch (run) {
    case 1:
      return copy(std::integral_constant<std::size_t, 1>{});
    case 2:
      return copy(std::integral_constant<std::size_t, 2>{});
    case 4:
      return copy(std::integral_constant<std::size_t, 4>{});
    case 8:
      return copy(std::integral_constant<std::size_t, 8>{});
    case 16:
      return copy(std::integral_constant<std::size_t, 16>{});
    default:
      return copy(run);
  }
}

/// Calls visit(first run, number of runs, stride) for each innermost loop, in order.
template <class Visit>
void for_each_row(const Walk& walk, const std::byte* data, Visit&& visit) noexcept {
  const auto loops = walk.loops();
  if (loops.empty()) return visit(data, std::size_t{1}, std::ptrdiff_t{0});
  const Walk::Loop& row = loops.back();
  const auto outer = loops.first(loops.size() - 1);
  std::array<std::size_t, 64> position{};
  while (true) {
    visit(data, row.count, row.stride);
    std::size_t level = outer.size();
    while (true) {
      if (level == 0) return;
      --level;
      data += outer[level].stride;
      if (++position[level] < outer[level].count) break;
      data -= outer[level].stride * static_cast<std::ptrdiff_t>(outer[level].count);
      position[level] = 0;
    }
  }
}

Digest digest_in_order(const StridedBytes& value, Order order) noexcept {
  const std::size_t size = packed_size(value);
  if (size == 0) return digest({});
  if (size == core::kTooLarge) return {};
  const Walk walk(value, order);
  if (walk.loops().empty()) return digest({value.data, size});

  constexpr std::size_t kBufferBytes = 4 * core::kLeafBytes;
  std::array<std::byte, kBufferBytes> buffer;
  const std::size_t run = walk.run_bytes();
  if (size <= core::kLeafBytes) {
    std::byte* target = buffer.data();
    for_each_row(walk, value.data, [&](const std::byte* row, std::size_t count, auto stride) {
      gather_runs(target, row, count, stride, run);
      target += count * run;
    });
    return digest({buffer.data(), size});
  }

  DigestStream stream;
  std::size_t filled = 0;
  for_each_row(walk, value.data, [&](const std::byte* row, std::size_t count, auto stride) {
    if (run > kBufferBytes) {
      for (std::size_t i = 0; i < count; ++i, row += stride) stream.update({row, run});
      return;
    }
    while (count > 0) {
      const std::size_t taken = std::min(count, (kBufferBytes - filled) / run);
      gather_runs(buffer.data() + filled, row, taken, stride, run);
      filled += taken * run;
      row += stride * static_cast<std::ptrdiff_t>(taken);
      count -= taken;
      if (filled + run <= kBufferBytes) continue;
      stream.update({buffer.data(), filled});
      filled = 0;
    }
  });
  stream.update({buffer.data(), filled});
  return stream.finish();
}

}  // namespace

Digest digest_in_memory_order(const StridedBytes& value) noexcept {
  return digest_in_order(value, Order::memory);
}

Digest digest_in_logical_order(const StridedBytes& value) noexcept {
  return digest_in_order(value, Order::logical);
}

std::size_t pack_in_memory_order(const StridedBytes& value, std::span<std::byte> packed) noexcept {
  const std::size_t size = packed_size(value);
  if (size == 0 || size > packed.size()) return 0;
  const Walk walk(value, Order::memory);
  const std::size_t run = walk.run_bytes();
  std::byte* target = packed.data();
  for_each_row(walk, value.data, [&](const std::byte* row, std::size_t count, auto stride) {
    gather_runs(target, row, count, stride, run);
    target += count * run;
  });
  return size;
}

std::size_t packed_size(const StridedBytes& value) noexcept {
  std::size_t size = value.element_size;
  for (const std::int64_t count : value.sizes)
    if (count <= 0) return 0;
  for (std::size_t i = 0; i < value.sizes.size(); ++i)
    if (core::is_walked(value.sizes[i], value.strides[i]) &&
        __builtin_mul_overflow(size, static_cast<std::size_t>(value.sizes[i]), &size))
      return core::kTooLarge;
  return size;
}

std::vector<std::int64_t> packed_strides(std::span<const std::int64_t> sizes,
                                         std::span<const std::int64_t> strides) {
  std::vector<std::size_t> walked;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (core::is_walked(sizes[i], strides.empty() ? 1 : strides[i])) walked.push_back(i);
  if (!strides.empty())
    std::ranges::stable_sort(walked, std::ranges::greater{},
                             [strides](std::size_t i) { return std::abs(strides[i]); });
  std::vector<std::int64_t> packed(sizes.size(), 0);
  std::int64_t stride = 1;
  for (auto place = walked.rbegin(); place != walked.rend(); ++place) {
    packed[*place] = stride;
    // Sizes beyond all memory have no packed form; difference() rejects them.
    if (__builtin_mul_overflow(stride, sizes[*place], &stride)) return packed;
  }
  return packed;
}

}  // namespace ulpscope
