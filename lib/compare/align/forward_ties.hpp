#pragma once

#include <cstdint>
#include <functional>
#include <unordered_set>
#include <vector>

#include "compare/align/entry.hpp"
#include "compare/align/sequence_alignment.hpp"
#include "compare/align/window_pair.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// Names the forward op that a backward node belongs to, the same number in both runs where those
/// ops are partners; 0 if it is not known.
using ForwardId = std::function<std::uint64_t(Side, std::uint32_t lane, std::uint64_t position)>;

/// Ties backward to its forward ops: what backward runs for partners are partners.
class ForwardTies {
 public:
  /// `outside` answers for forward ops of other windows. Both must outlive this.
  ForwardTies(const WindowPair& windows, const ForwardId& outside)
      : windows_(windows), outside_(outside) {}

  /// Numbers the partners outside of backward. What of_both() knows stays known when they are
  /// numbered again.
  /// @param items that `alignment` is of
  void number_partners(const ItemLists& items, const SequenceAlignment& alignment);

  /// Ties an item to its partner outside of backward, or to that of its forward op; 0 without one.
  [[nodiscard]] std::uint64_t of(Side side, std::uint32_t item) const;

  /// Of backward for a forward op whose partner's backward is in the other window, too: it is that
  /// of no other op. 0 for all else.
  [[nodiscard]] std::uint64_t of_both(Side side, std::uint32_t item) const;

 private:
  [[nodiscard]] std::uint64_t of_forward(Side side, std::uint32_t item) const;

  const WindowPair& windows_;
  const ForwardId& outside_;
  Both<std::vector<std::uint64_t>> numbers_;  ///< per item: of the pair it is in, 0 for none
  Both<std::unordered_set<std::uint64_t>> of_backward_;  ///< ties that backward has
};

}  // namespace ulpscope::comparison
