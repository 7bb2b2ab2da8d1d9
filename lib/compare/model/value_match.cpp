#include "compare/model/value_match.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool has_strides(const Geometry& geometry) noexcept {
  return geometry.strides.size() == geometry.sizes.size();
}

[[nodiscard]] bool is_expanded(const Geometry& geometry, std::size_t dimension) noexcept {
  return geometry.sizes[dimension] > 1 && geometry.strides[dimension] == 0;
}

/// Dimensions that a walk in memory order visits, outermost first.
[[nodiscard]] std::vector<std::size_t> memory_order(const Geometry& geometry) {
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < geometry.sizes.size(); ++d)
    if (geometry.sizes[d] > 1 && geometry.strides[d] != 0) order.push_back(d);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return geometry.strides[a] > geometry.strides[b];
  });
  return order;
}

[[nodiscard]] bool same_expansion(const Geometry& a, const Geometry& b) noexcept {
  for (std::size_t d = 0; d < a.sizes.size(); ++d)
    if (is_expanded(a, d) != is_expanded(b, d)) return false;
  return true;
}

[[nodiscard]] std::optional<Digest> logical_digest(const Slot& slot) {
  if (slot.flags & slot_flag::logical) return slot.logical_digest;
  if (is_row_major(*slot.geometry)) return slot.digest;
  return std::nullopt;
}

[[nodiscard]] Match match_digests(const Slot& reference, const Slot& candidate) {
  const Geometry& a = *reference.geometry;
  const Geometry& b = *candidate.geometry;
  const auto verdict = [](const Digest& left, const Digest& right) {
    return left == right ? Match::equal : Match::differs;
  };
  if (a.layout != b.layout || has_strides(a) != has_strides(b)) return Match::layout;
  if (a.strides == b.strides || same_memory_order(a, b))
    return verdict(reference.digest, candidate.digest);
  if (!same_expansion(a, b)) return Match::layout;
  const auto left = logical_digest(reference);
  const auto right = logical_digest(candidate);
  if (left && right && *left == *right) return Match::equal;
  if (reference.role == Role::input && reference.digest == candidate.digest)
    return Match::reordered;
  return left && right ? Match::differs : Match::layout;
}

/// The same elements, row by row, whatever the shape. For views, their readers know this.
[[nodiscard]] bool same_elements(const Slot& reference, const Slot& candidate) {
  constexpr std::uint32_t kWithoutContent = slot_flag::no_digest | slot_flag::opaque |
                                            slot_flag::overwritten | slot_flag::metadata_only |
                                            slot_flag::uninitialised;
  const std::uint64_t count = element_count(*reference.geometry);
  if (count == 0 || count != element_count(*candidate.geometry)) return false;
  if (reference.flags & candidate.flags & slot_flag::view) return true;
  if ((reference.flags | candidate.flags) & kWithoutContent) return false;
  const auto left = logical_digest(reference);
  const auto right = logical_digest(candidate);
  return left && right && *left == *right;
}

}  // namespace

bool is_row_major(const Geometry& geometry) {
  if (!has_strides(geometry)) return false;
  std::int64_t outer = 0;
  for (std::size_t d = 0; d < geometry.sizes.size(); ++d) {
    if (geometry.sizes[d] <= 1 || geometry.strides[d] == 0) continue;
    if (outer != 0 && geometry.strides[d] > outer) return false;
    outer = geometry.strides[d];
  }
  return true;
}

bool same_memory_order(const Geometry& a, const Geometry& b) {
  if (a.sizes.size() != b.sizes.size() || !has_strides(a) || !has_strides(b)) return false;
  return same_expansion(a, b) && memory_order(a) == memory_order(b);
}

bool is_other_batch(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  return !a.empty() && a.size() == b.size() && a.front() != b.front() &&
         std::equal(a.begin() + 1, a.end(), b.begin() + 1);
}

std::uint64_t element_count(const Geometry& geometry) noexcept {
  std::uint64_t count = 1;
  for (const std::int64_t size : geometry.sizes) {
    if (size <= 0) return 0;
    if (__builtin_mul_overflow(count, static_cast<std::uint64_t>(size), &count)) return 0;
  }
  return count;
}

bool is_read(const Slot& slot) noexcept {
  constexpr std::uint32_t kUnread =
      slot_flag::undefined | slot_flag::overwritten | slot_flag::metadata_only;
  return slot.role == Role::input && !(slot.flags & kUnread) && slot.geometry != nullptr;
}

Match match(const Slot& reference, const Slot& candidate) {
  const std::uint32_t either = reference.flags | candidate.flags;
  const std::uint32_t both = reference.flags & candidate.flags;
  if (both & slot_flag::undefined) return Match::aside;
  if (either & slot_flag::undefined) return Match::one_sided;
  if (reference.geometry == nullptr || candidate.geometry == nullptr) return Match::opaque;
  if (either & slot_flag::handle) return Match::handle;

  const Geometry& a = *reference.geometry;
  const Geometry& b = *candidate.geometry;
  if (either & slot_flag::scratch) return Match::aside;
  constexpr std::uint32_t kNotCompared =
      slot_flag::overwritten | slot_flag::metadata_only | slot_flag::view;
  if (a.dtype != b.dtype) return Match::metadata;
  if (a.sizes != b.sizes)
    return same_elements(reference, candidate) ? Match::reshaped : Match::metadata;
  if (either & kNotCompared) return Match::aside;
  if (reference.role != Role::input && (either & slot_flag::uninitialised))
    return Match::uninitialised;
  if (either & slot_flag::opaque) return Match::opaque;
  if (either & slot_flag::no_digest)
    return both & slot_flag::no_digest ? Match::aside : Match::opaque;
  if (std::find(a.sizes.begin(), a.sizes.end(), 0) != a.sizes.end()) return Match::equal;
  return match_digests(reference, candidate);
}

}  // namespace ulpscope::comparison
