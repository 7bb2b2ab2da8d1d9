#include "compare/measure/permutation.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "ulpscope/digest.hpp"

namespace ulpscope::comparison {
namespace {

using Piece = ValuePair::Piece;

/// Pieces in no order: their digests, added up.
class Bag {
 public:
  void add(const Digest& digest) {
    sum_.high += digest.high;
    sum_.low += digest.low;
  }
  [[nodiscard]] bool operator==(const Bag& other) const = default;

 private:
  Digest sum_;
};

/// The same pieces of `size` bytes on both sides, in whatever order.
[[nodiscard]] bool same_pieces(const ValuePair& pair, std::uint64_t size) {
  if (size == 0 || pair.size() <= size) return false;
  Both<Bag> bags;
  Both<DigestStream> open;
  std::uint64_t filled = 0;  // bytes of the current piece
  pair.for_each_piece([&](Piece reference, Piece candidate) {
    for (std::size_t at = 0; at < reference.size();) {
      const std::size_t taken = std::min<std::uint64_t>(size - filled, reference.size() - at);
      if (taken == size) {
        bags.reference.add(digest(reference.subspan(at, taken)));
        bags.candidate.add(digest(candidate.subspan(at, taken)));
      } else {
        open.reference.update(reference.subspan(at, taken));
        open.candidate.update(candidate.subspan(at, taken));
        filled += taken;
        if (filled == size) {
          bags.reference.add(open.reference.finish());
          bags.candidate.add(open.candidate.finish());
          open.reference = DigestStream();
          open.candidate = DigestStream();
          filled = 0;
        }
      }
      at += taken;
    }
    return true;
  });
  return bags.reference == bags.candidate;
}

[[nodiscard]] bool repeats_among(std::span<const std::byte> bytes, std::size_t size) {
  std::vector<const std::byte*> pieces;
  for (std::size_t at = 0; at + size <= bytes.size(); at += size)
    pieces.push_back(bytes.data() + at);
  std::sort(pieces.begin(), pieces.end(),
            [size](const std::byte* a, const std::byte* b) { return std::memcmp(a, b, size) < 0; });
  return std::adjacent_find(pieces.begin(), pieces.end(),
                            [size](const std::byte* a, const std::byte* b) {
                              return std::memcmp(a, b, size) == 0;
                            }) != pieces.end();
}

}  // namespace

bool same_numbers(const ValuePair& pair) { return same_pieces(pair, element_size(pair.dtype())); }

bool same_rows(const ValuePair& pair) {
  const auto& shape = pair.shape();
  if (shape.empty() || shape.front() < 2 || !pair.row_major()) return false;
  return same_pieces(pair, pair.size() / static_cast<std::uint64_t>(shape.front()));
}

bool number_repeats(std::span<const std::byte> bytes, std::size_t element) {
  constexpr std::size_t kLook = std::size_t{1} << 20;  // most repeat in here, if at all
  return (bytes.size() > kLook && repeats_among(bytes.first(kLook), element)) ||
         repeats_among(bytes, element);
}

}  // namespace ulpscope::comparison
