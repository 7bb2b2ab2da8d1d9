#include "compare/align/dropped_gradients.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace ulpscope::comparison {
namespace {

using ParameterName = std::pair<std::string_view, std::string_view>;  ///< root, name
using TrainedRoots = std::unordered_set<std::string_view>;

/// How often backward runs, one after the other.
[[nodiscard]] std::uint64_t passes(const Window& window) {
  std::uint64_t count = 0;
  bool before = false;
  for (const Item& item : window.items()) {
    const bool now = in_backward(window.event(item.event));
    if (now && !before) ++count;
    before = now;
  }
  return count;
}

/// What the last update of each parameter has written.
[[nodiscard]] std::map<ParameterName, Digest> left_by_updates(const Window& window) {
  std::map<ParameterName, Digest> left;
  for (const Item& item : window.items()) {
    const Event& event = window.event(item.event);
    if (!updates_parameter(event)) continue;
    for (const Slot& slot : event.slots)
      if (slot.role != Role::input && (slot.flags & slot_flag::parameter) && !slot.name.empty())
        left.insert_or_assign({event.root, slot.name}, slot.digest);
  }
  return left;
}

[[nodiscard]] bool leave_the_same(const WindowPair& windows) {
  const auto left = left_by_updates(windows.window(Side::reference));
  return !left.empty() && left == left_by_updates(windows.window(Side::candidate));
}

/// The roots whose parameters each optimizer updates.
[[nodiscard]] std::unordered_map<std::uint64_t, TrainedRoots> trained_roots(const Window& window) {
  std::unordered_map<std::uint64_t, TrainedRoots> roots;
  for (std::uint32_t index = 0; index < window.size(); ++index) {
    if (window.event(index).kind != EventKind::optimizer) continue;
    TrainedRoots& own = roots[window.event(index).object];
    for (std::uint32_t inner = index + 1; inner < window.end(index); ++inner)
      if (updates_parameter(window.event(inner))) own.insert(window.event(inner).root);
  }
  return roots;
}

[[nodiscard]] std::string_view gradient_name(const Event& gradient) noexcept {
  for (const Slot& slot : gradient.slots)
    if (slot.flags & slot_flag::gradient) return slot.name;
  return {};
}

/// Follows the gradients of one run through a window.
class GradientWalk {
 public:
  explicit GradientWalk(const Window& window) : window_(window), trained_(trained_roots(window)) {}

  /// For each item, how many times gradients that backward had left were dropped before it.
  [[nodiscard]] std::vector<std::int64_t> count() && {
    for (const Item& item : window_.items()) {
      if (drops(item.event)) {
        ++times_;
        taken_.clear();
      }
      counts_.push_back(times_);
    }
    return std::move(counts_);
  }

 private:
  [[nodiscard]] bool drops(std::uint32_t index) {
    const Event& event = window_.event(index);
    const bool again = is_taken_again(index);
    if (in_backward(event))
      note_backward(event);
    else if (event.kind == EventKind::zero_grad)
      return forget(event.object);
    else if (event.kind == EventKind::optimizer || updates_parameter(event))
      note_update();
    else if (left_ && !zeroed_ && zeroes_gradient(event))
      zeroed_ = counts_.size();
    return again;
  }

  /// A parameter takes over another gradient than the one that it has got.
  [[nodiscard]] bool is_taken_again(std::uint32_t index) {
    const Event& event = window_.event(index);
    return event.kind == EventKind::gradient && takes_over_gradient(window_, index) &&
           !gradient_name(event).empty() &&
           !taken_.emplace(event.root, gradient_name(event)).second;
  }

  void note_backward(const Event& event) {
    left_ = true;
    if (event.kind == EventKind::gradient) roots_left_.insert(event.root);
    if (!zeroed_) return;
    for (std::size_t k = *zeroed_; k < counts_.size(); ++k) ++counts_[k];
    ++times_;
    zeroed_.reset();
    taken_.clear();
  }

  /// The passes before have served it, whatever else they have left gradients of.
  void note_update() {
    left_ = false;
    roots_left_.clear();
    zeroed_.reset();
    taken_.clear();
  }

  /// Gradients of what the optimizer trains are there no longer; of all, if that is not known. True
  /// if there were some.
  [[nodiscard]] bool forget(std::uint64_t optimizer) {
    const auto own = trained_.find(optimizer);
    if (own == trained_.end() || own->second.empty()) {
      roots_left_.clear();
      return std::exchange(left_, false);
    }
    std::size_t forgotten = 0;
    for (const std::string_view root : own->second) forgotten += roots_left_.erase(root);
    left_ = !roots_left_.empty();
    return forgotten > 0;
  }

  const Window& window_;
  std::unordered_map<std::uint64_t, TrainedRoots> trained_;  ///< by optimizer
  std::vector<std::int64_t> counts_;
  std::int64_t times_ = 0;
  bool left_ = false;
  TrainedRoots roots_left_;
  std::optional<std::size_t> zeroed_;  ///< the item that first set one of them to zero
  std::set<ParameterName> taken_;      ///< with a gradient
};

/// Counts between each item and the last update, not from the first item on.
void count_from_last_update(const Window& window, std::vector<std::int64_t>& counts) {
  const auto items = window.items();
  const auto last = std::find_if(items.rbegin(), items.rend(), [&](const Item& item) {
    return updates_parameter(window.event(item.event));
  });
  if (last == items.rend()) return;
  const std::int64_t at_update =
      counts[static_cast<std::size_t>(std::distance(last, items.rend())) - 1];
  for (std::int64_t& count : counts) count -= at_update;
}

}  // namespace

DroppedGradients::DroppedGradients(const WindowPair& windows) {
  // As many passes in both runs are the same ones, whatever becomes of their gradients.
  if (passes(windows.window(Side::reference)) == passes(windows.window(Side::candidate))) {
    for (const Side side : kSides) on(counts_, side).assign(windows.item_count(side), 0);
    return;
  }
  // Where the last updates leave the same, the last pass of both is the same one.
  const bool from_the_end = leave_the_same(windows);
  for (const Side side : kSides) {
    const Window& window = windows.window(side);
    on(counts_, side) = GradientWalk(window).count();
    if (from_the_end) count_from_last_update(window, on(counts_, side));
  }
}

}  // namespace ulpscope::comparison
