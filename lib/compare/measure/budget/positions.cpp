#include "compare/measure/budget/positions.hpp"

#include <cmath>
#include <cstring>
#include <vector>

#include "core/elements.hpp"

namespace ulpscope::comparison::budget {
namespace {

using Strides = std::vector<std::int64_t>;

[[nodiscard]] std::int64_t position_at(const std::vector<std::byte>& bytes, std::int64_t offset) {
  std::int64_t position = 0;
  std::memcpy(&position, bytes.data() + static_cast<std::size_t>(offset) * sizeof(position),
              sizeof(position));
  return position;
}

/// Where the line of each position begins in the input's numbers.
[[nodiscard]] Strides strides_of_lines(const Strides& input, std::size_t dimension, bool kept) {
  Strides strides = input;
  if (kept)
    strides[dimension] = 0;
  else
    strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(dimension));
  return strides;
}

[[nodiscard]] bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

bool pick_equal_numbers(const OpView& op, const TensorBytes& positions) {
  const Numbers* const input = op.numbers_in("self");
  if (positions.dtype != Dtype::int64 || input == nullptr || input->shape.empty()) return false;
  const auto rank = static_cast<std::int64_t>(input->shape.size());
  std::int64_t dimension = op.integer("dim", -1);
  if (dimension < 0) dimension += rank;
  if (dimension < 0 || dimension >= rank) return false;
  const auto at = static_cast<std::size_t>(dimension);
  const std::int64_t size = input->shape[at];
  const std::int64_t stride = input->strides[at];
  const bool kept = positions.shape.size() == input->shape.size();
  const Strides begins = strides_of_lines(input->strides, at, kept);
  if (begins.size() != positions.shape.size()) return false;
  for (std::size_t d = 0, of_input = 0; d < begins.size(); ++d, ++of_input) {
    if (!kept && d == at) ++of_input;
    if (of_input != at && positions.shape[d] != input->shape[of_input]) return false;
  }
  bool equal = true;
  core::for_each_element<2>(
      positions.shape, {positions.strides, begins}, [&](std::int64_t place, std::int64_t begin) {
        const std::int64_t a = position_at(positions.bytes.reference, place);
        const std::int64_t b = position_at(positions.bytes.candidate, place);
        const bool inside = a >= 0 && a < size && b >= 0 && b < size;
        const auto number = [&](std::int64_t position) {
          return input->values[static_cast<std::size_t>(begin + position * stride)];
        };
        equal = equal && inside && same(number(a), number(b));
      });
  return equal;
}

}  // namespace ulpscope::comparison::budget
