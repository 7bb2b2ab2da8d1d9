#include "compare/value_study.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "compare/differences.hpp"
#include "compare/tensor_bytes.hpp"
#include "compare/tolerance.hpp"

namespace ulpscope::comparison {
namespace {

using Bytes = std::vector<std::byte>;

[[nodiscard]] bool row_major(const TensorBytes& tensor) {
  std::int64_t step = 1;
  for (std::size_t d = tensor.shape.size(); d-- > 0;) {
    if (tensor.shape[d] > 1 && tensor.strides[d] != step) return false;
    step *= tensor.shape[d];
  }
  return true;
}

/// Pieces of `size` bytes in ascending order of their content.
[[nodiscard]] std::vector<const std::byte*> sorted_pieces(const Bytes& bytes, std::size_t size) {
  std::vector<const std::byte*> pieces;
  for (std::size_t at = 0; at + size <= bytes.size(); at += size)
    pieces.push_back(bytes.data() + at);
  std::sort(pieces.begin(), pieces.end(),
            [size](const std::byte* a, const std::byte* b) { return std::memcmp(a, b, size) < 0; });
  return pieces;
}

/// The same pieces of `size` bytes in both, in whatever order.
[[nodiscard]] bool same_pieces(const TensorBytes& tensor, std::size_t size) {
  if (size == 0 || tensor.bytes.reference.size() <= size) return false;
  const auto left = sorted_pieces(tensor.bytes.reference, size);
  const auto right = sorted_pieces(tensor.bytes.candidate, size);
  return std::equal(
      left.begin(), left.end(), right.begin(), right.end(),
      [size](const std::byte* a, const std::byte* b) { return std::memcmp(a, b, size) == 0; });
}

[[nodiscard]] bool rows_permuted(const TensorBytes& tensor) {
  if (tensor.shape.empty() || tensor.shape.front() < 2 || !row_major(tensor)) return false;
  return same_pieces(
      tensor, tensor.bytes.reference.size() / static_cast<std::size_t>(tensor.shape.front()));
}

/// Of rounding alone.
[[nodiscard]] double rounding(Dtype dtype) { return element_size(dtype) >= 4 ? 1e-6 : 1e-2; }

[[nodiscard]] bool number_repeats(const TensorBytes& tensor) {
  const std::size_t size = element_size(tensor.dtype);
  const auto pieces = sorted_pieces(tensor.bytes.reference, size);
  return std::adjacent_find(pieces.begin(), pieces.end(),
                            [size](const std::byte* a, const std::byte* b) {
                              return std::memcmp(a, b, size) == 0;
                            }) != pieces.end();
}

}  // namespace

ValueAnswer study(const Both<const Run*>& runs, const ValueQuestion& question) {
  ValueAnswer answer;
  const auto tensor = tensor_bytes(runs, question.ranks, question.digests, question.geometries);
  answer.known = tensor.has_value();
  if (!tensor) return answer;
  if (question.repeats) {
    answer.repeats = number_repeats(*tensor);
    return answer;
  }
  answer.difference = difference(tensor->dtype, tensor->shape, tensor->strides,
                                 tensor->bytes.reference, tensor->bytes.candidate);
  answer.inside = all_inside(*tensor, question.limits);
  answer.rows_permuted = rows_permuted(*tensor);
  answer.numbers_permuted = same_pieces(*tensor, element_size(tensor->dtype));
  answer.ratio = constant_ratio(*tensor, rounding(tensor->dtype));
  return answer;
}

}  // namespace ulpscope::comparison
