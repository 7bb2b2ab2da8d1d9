#include "compare/align/equivalent_arguments.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "compare/align/op_comparison.hpp"

namespace ulpscope::comparison {
namespace {

using Numbers = std::vector<std::int64_t>;

constexpr std::array<std::string_view, 9> kDimensions{
    "dim", "dims", "dim0", "dim1", "dim2", "start_dim", "end_dim", "source", "destination"};
constexpr std::array<std::string_view, 3> kPositions{"index", "start", "end"};
constexpr std::array<std::string_view, 2> kSizes{"size", "shape"};

template <std::size_t count>
[[nodiscard]] bool is_one_of(const std::array<std::string_view, count>& names,
                             std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// "2" and "[1, -1]"; empty for anything else.
[[nodiscard]] std::optional<Numbers> numbers_in(std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  Numbers numbers;
  while (!text.empty()) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return std::nullopt;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) break;
    if (!text.starts_with(", ")) return std::nullopt;
    text.remove_prefix(2);
  }
  return numbers;
}

[[nodiscard]] bool is_backward(const Event& event) { return event.op.ends_with("_backward"); }

[[nodiscard]] const Geometry* first_of(const Event& event, Role role) {
  const auto slot = std::ranges::find_if(
      event.slots, [&](const Slot& one) { return one.role == role && one.geometry != nullptr; });
  return slot == event.slots.end() ? nullptr : slot->geometry;
}

[[nodiscard]] std::optional<std::int64_t> dimension_of(const Event& event) {
  for (const Argument& argument : arguments(event)) {
    if (argument.name != "dim" || argument.result) continue;
    const auto numbers = numbers_in(argument.text);
    return numbers && numbers->size() == 1 ? std::optional(numbers->front()) : std::nullopt;
  }
  return std::nullopt;
}

/// Of what dimensions are counted in: the longest shape, where an op adds some, drops some or
/// broadcasts. Backward is given those of what it returns.
[[nodiscard]] std::int64_t dimensions(const Event& event) {
  const bool backward = is_backward(event);
  std::size_t most = 0;
  for (const Slot& slot : event.slots)
    if (slot.geometry != nullptr && !(backward && slot.role == Role::input))
      most = std::max(most, slot.geometry->sizes.size());
  return static_cast<std::int64_t>(most);
}

[[nodiscard]] bool is_same_dimension(std::int64_t one, std::int64_t other, const Event& event) {
  const std::int64_t count = dimensions(event);
  const auto from_the_front = [&](std::int64_t value) { return value < 0 ? value + count : value; };
  return from_the_front(one) == from_the_front(other);
}

/// Backward is given positions in what it returns.
[[nodiscard]] bool is_same_position(std::int64_t one, std::int64_t other, const Event& event) {
  const auto dimension = dimension_of(event);
  const Geometry* const geometry = first_of(event, is_backward(event) ? Role::output : Role::input);
  if (!dimension || geometry == nullptr) return false;
  const auto count = static_cast<std::int64_t>(geometry->sizes.size());
  const std::int64_t at = *dimension < 0 ? *dimension + count : *dimension;
  if (at < 0 || at >= count) return false;
  const std::int64_t size = geometry->sizes[static_cast<std::size_t>(at)];
  const auto position = [&](std::int64_t value) {
    return std::clamp(value < 0 ? value + size : value, std::int64_t{0}, size);
  };
  return position(one) == position(other);
}

/// Both see the same part of their first input, in the same order.
[[nodiscard]] bool is_same_view(const SlotPair& slot, const Event& reference,
                                const Event& candidate) {
  if (!both(slot, slot_flag::view)) return false;
  const Geometry* const input = first_of(reference, Role::input);
  const Geometry* const other_input = first_of(candidate, Role::input);
  const Geometry* const output = slot.reference->geometry;
  const Geometry* const other_output = slot.candidate->geometry;
  if (input == nullptr || other_input == nullptr || output == nullptr || other_output == nullptr)
    return false;
  return output->sizes == other_output->sizes && output->strides == other_output->strides &&
         output->storage_offset - input->storage_offset ==
             other_output->storage_offset - other_input->storage_offset;
}

[[nodiscard]] bool gives_the_same(const SlotPair& slot, const Event& reference,
                                  const Event& candidate) {
  const bool same_shape = slot.reference != nullptr && slot.candidate != nullptr &&
                          slot.reference->geometry != nullptr &&
                          slot.candidate->geometry != nullptr &&
                          slot.reference->geometry->sizes == slot.candidate->geometry->sizes;
  return (same_shape && slot.match == Match::equal) || is_same_view(slot, reference, candidate);
}

[[nodiscard]] bool give_one_shape(const Event& reference, const Event& candidate) {
  const Geometry* const left = first_of(reference, Role::output);
  const Geometry* const right = first_of(candidate, Role::output);
  return left != nullptr && right != nullptr && left->sizes == right->sizes;
}

/// All that is returned, which is something.
[[nodiscard]] bool give_one_view(const Event& reference, const Event& candidate) {
  std::vector<SlotPair> slots;
  compare_slots(reference, candidate, slots);
  std::erase_if(slots, [](const SlotPair& slot) { return slot.role() == Role::input; });
  return !slots.empty() && std::ranges::all_of(slots, [&](const SlotPair& slot) {
    return is_same_view(slot, reference, candidate);
  });
}

}  // namespace

bool give_the_same(const Event& reference, const Event& candidate) {
  std::vector<SlotPair> slots;
  compare_slots(reference, candidate, slots);
  return std::ranges::all_of(slots, [&](const SlotPair& slot) {
    return slot.role() == Role::input ? !is_difference(slot.match)
                                      : gives_the_same(slot, reference, candidate);
  });
}

bool say_the_same(const Event& reference, const Event& candidate, std::string_view argument,
                  std::string_view reference_text, std::string_view candidate_text) {
  if (reference.kind != EventKind::op) return false;
  if (give_one_view(reference, candidate)) return true;
  const auto left = numbers_in(reference_text);
  const auto right = numbers_in(candidate_text);
  if (!left || !right) return false;
  const auto in_both = [&](auto is_same, std::int64_t one, std::int64_t other) {
    return is_same(one, other, reference) && is_same(one, other, candidate);
  };
  return std::ranges::equal(*left, *right, [&](std::int64_t one, std::int64_t other) {
    if (one == other) return true;
    if (is_one_of(kDimensions, argument)) return in_both(is_same_dimension, one, other);
    if (is_one_of(kPositions, argument)) return in_both(is_same_position, one, other);
    return is_one_of(kSizes, argument) && std::min(one, other) == -1 &&
           give_one_shape(reference, candidate);
  });
}

}  // namespace ulpscope::comparison
