#include "compare/differences.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

#include "compare/effect.hpp"
#include "compare/elements.hpp"
#include "compare/tensor_bytes.hpp"
#include "compare/value_names.hpp"

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

/// Whether a number stands in a tensor more than once; empty where its bytes are not known.
[[nodiscard]] std::optional<bool> repeats(const Both<const Run*>& runs, const Record& record,
                                          const TensorEvidence& evidence) {
  const auto bytes = tensor_bytes(runs, record.ranks, evidence.digest, evidence.geometry);
  if (!bytes) return std::nullopt;
  const std::size_t size = element_size(bytes->dtype);
  if (size == 0) return std::nullopt;
  const auto pieces = sorted_pieces(bytes->bytes.reference, size);
  return std::adjacent_find(pieces.begin(), pieces.end(),
                            [size](const std::byte* a, const std::byte* b) {
                              return std::memcmp(a, b, size) == 0;
                            }) != pieces.end();
}

}  // namespace

std::uint64_t measure(Record& record, const Both<const Run*>& runs, const Tolerance& tolerance) {
  std::uint64_t without_bytes = 0;
  const auto measure_one = [&](TensorReport& tensor, TensorEvidence& evidence) {
    if (tensor.equal || !evidence.compared) return;
    const auto bytes = tensor_bytes(runs, record.ranks, evidence.digest, evidence.geometry);
    if (!bytes) {
      ++without_bytes;
      return;
    }
    tensor.difference = difference(bytes->dtype, bytes->shape, bytes->strides,
                                   bytes->bytes.reference, bytes->bytes.candidate);
    tensor.difference->budget = evidence.budget;
    if (tolerance.any())
      tensor.tolerance = tolerance.judge(*bytes, [&] { return names_of(record.finding); });
    evidence.rows_permuted = rows_permuted(*bytes);
    evidence.numbers_permuted = same_pieces(*bytes, element_size(bytes->dtype));
    evidence.ratio = constant_ratio(*bytes, rounding(bytes->dtype));
  };
  auto& tensors = record.finding.tensors;
  const bool picks_places =
      record.finding.kind == FindingKind::origin &&
      std::any_of(tensors.begin(), tensors.end(),
                  [](const TensorReport& tensor) { return tensor.dtype == Dtype::int64; });
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    measure_one(tensors[k], record.evidence.tensors[k]);
    if (picks_places && tensors[k].equal)
      record.evidence.tensors[k].repeats = repeats(runs, record, record.evidence.tensors[k]);
  }
  if (record.effect) {
    measure_one(record.effect->tensor.report, record.effect->tensor.evidence);
    record.finding.notes.push_back(effect_words(*record.effect));
  }
  return without_bytes;
}

std::optional<double> constant_ratio(const TensorBytes& tensor, double tolerance) {
  if (!is_floating_point(tensor.dtype)) return std::nullopt;
  const auto left = decode(tensor.dtype, tensor.bytes.reference);
  const auto right = decode(tensor.dtype, tensor.bytes.candidate);
  if (!left || !right) return std::nullopt;
  double largest = 0;
  std::size_t at = 0;
  std::size_t nonzero = 0;
  for (std::size_t i = 0; i < left->size(); ++i) {
    const double size = std::abs((*left)[i].value);
    if (!std::isfinite(size) || !std::isfinite((*right)[i].value)) return std::nullopt;
    if (size > 0) ++nonzero;
    if (size <= largest) continue;
    largest = size;
    at = i;
  }
  constexpr std::size_t kFewest = 4;  // any one number is a multiple of any other
  if (nonzero < kFewest) return std::nullopt;
  const double ratio = (*right)[at].value / (*left)[at].value;
  if (!std::isfinite(ratio) || ratio == 0 || std::abs(ratio - 1) < 100 * tolerance)
    return std::nullopt;
  for (std::size_t i = 0; i < left->size(); ++i) {
    const double expected = ratio * (*left)[i].value;
    if (std::abs((*right)[i].value - expected) > tolerance * std::abs(ratio) * largest)
      return std::nullopt;
  }
  return ratio;
}

}  // namespace ulpscope::comparison
