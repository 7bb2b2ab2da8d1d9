#pragma once

#include <cstdint>

#include "compare/align/dropped_gradients.hpp"
#include "compare/align/forward_ties.hpp"
#include "compare/align/moved_items.hpp"
#include "compare/align/sequence_alignment.hpp"
#include "compare/align/setup_order.hpp"
#include "compare/align/window_pair.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// The elements of items in alignments: what must agree for two items to be partners. `call` is
/// that of SharedCalls.
class ItemElements {
 public:
  /// All of them must outlive this. `several_steps`: windows may hold more than one step.
  ItemElements(const WindowPair& windows, const DroppedGradients& dropped, const ForwardTies& ties,
               const SetupOrder& setup, const MovedItems& moved, bool several_steps);

  /// Of an item outside of backward, as long as it has no ties.
  [[nodiscard]] SequenceElement untied(Side side, std::uint32_t item, std::uint64_t call) const;
  [[nodiscard]] SequenceElement tied(Side side, std::uint32_t item, std::uint64_t call) const;
  /// Of an item that strict alignment has left.
  [[nodiscard]] SequenceElement relaxed(Side side, std::uint32_t item, std::uint64_t call) const;

 private:
  [[nodiscard]] SequenceElement strict(Side side, std::uint32_t item, std::uint64_t tie,
                                       std::uint64_t call) const;
  [[nodiscard]] bool is_marker(const Event& event) const;
  [[nodiscard]] bool is_update_of_several(const Event& event) const;
  [[nodiscard]] std::uint64_t placed(std::uint64_t structure, Side side, std::uint32_t item) const;

  const WindowPair& windows_;
  const DroppedGradients& dropped_;
  const ForwardTies& ties_;
  const SetupOrder& setup_;
  const MovedItems& moved_;
  bool several_steps_;
  bool has_ops_;
};

}  // namespace ulpscope::comparison
