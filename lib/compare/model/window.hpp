#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

inline constexpr std::uint32_t kNoIndex = ~std::uint32_t{0};

/// An event together with the block that owns what it refers to.
struct HeldEvent {
  const Event* event = nullptr;
  std::shared_ptr<const Block> block;
  /// In a lane whose nodes belong to a different lane's forward: the last op of that lane that a
  /// node of this step belongs to, up to this event. Backward begins at its loss, so this event
  /// runs after that op.
  std::uint64_t after_forward = kNone;
};

/// What is aligned between two runs: an outermost op, or the end of a scope.
struct Item {
  std::uint32_t event = kNoIndex;
  bool op = false;
};

/// A stretch of one lane inside one step: its events as a tree, and the items to align in order.
///
/// Ops inside ops are part of the outermost op's item. Scopes, modules, backward nodes, gradients
/// and optimizers are transparent: each becomes one item at its end, after what ran inside it.
/// Tensors of an optimizer's state that are saved in a row are in the order of their names, those
/// without one in that in which they were made: LibTorch saves them in the order of addresses.
class Window {
 public:
  /// `last` says that the lane has no more events in this step: open scopes then end here. Without
  /// it, scopes that are still open and the last outermost op have no item yet.
  Window(std::vector<HeldEvent> events, bool last);

  [[nodiscard]] std::size_t size() const noexcept { return events_.size(); }
  [[nodiscard]] const Event& event(std::uint32_t index) const { return *events_[index].event; }
  [[nodiscard]] std::span<const Item> items() const noexcept { return items_; }
  [[nodiscard]] bool last() const noexcept { return last_; }

  /// One past the last event that ran inside `index`.
  [[nodiscard]] std::uint32_t end(std::uint32_t index) const { return end_[index]; }
  /// The event that `index` ran inside, or kNoIndex.
  [[nodiscard]] std::uint32_t parent(std::uint32_t index) const { return parent_[index]; }
  /// The item that `index` belongs to, or kNoIndex if that has not ended in this window.
  [[nodiscard]] std::uint32_t item_of(std::uint32_t index) const { return item_of_[index]; }
  /// The event at `position`, or kNoIndex.
  [[nodiscard]] std::uint32_t find(std::uint64_t position) const;

  /// Ops that `index` calls directly, scopes between looked through.
  void inner_ops(std::uint32_t index, std::vector<std::uint32_t>& ops) const;

  /// The events that are left once the items before `item` are done with.
  [[nodiscard]] const HeldEvent& held(std::uint32_t event) const { return events_[event]; }
  [[nodiscard]] std::vector<HeldEvent> from_item(std::uint32_t item) const;

 private:
  void order_saves();

  std::vector<HeldEvent> events_;
  std::vector<std::uint32_t> end_;
  std::vector<std::uint32_t> parent_;
  std::vector<std::uint32_t> item_of_;
  std::vector<Item> items_;
  bool last_ = true;
};

/// Whether `op` runs directly inside the accumulation of a parameter's gradient.
[[nodiscard]] bool accumulates(const Window& window, std::uint32_t op);

/// A parameter's gradient is set to zero in place, not by backward.
[[nodiscard]] bool zeroes_gradient(const Event& event);

/// Updates a parameter: an optimizer's op, or a program's own that writes one.
[[nodiscard]] bool updates_parameter(const Event& event);

/// At `gradient`, where one is accumulated, the parameter takes it over: nothing was there that it
/// is added to. Known where ops are recorded.
[[nodiscard]] bool takes_over_gradient(const Window& window, std::uint32_t gradient);

}  // namespace ulpscope::comparison
