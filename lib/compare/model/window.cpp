#include "compare/model/window.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ulpscope::comparison {
namespace {

/// Outside of backward, a tensor with `flag`.
[[nodiscard]] bool writes(const Event& event, std::uint32_t flag) {
  return (event.flags & event_flag::in_backward) == 0 &&
         std::any_of(event.slots.begin(), event.slots.end(), [flag](const Slot& slot) {
           return slot.role == Role::mutated && (slot.flags & flag);
         });
}

/// A tensor of an optimizer's state is written to an archive. An archive of C++ is in the order of
/// addresses.
[[nodiscard]] bool saves_state(const Event& event) {
  return event.op == kSave && event.slots.size() == 1 &&
         (event.slots.front().flags & slot_flag::optimizer_state) != 0;
}

[[nodiscard]] bool is_saved_before(const Event& event, const Event& other) {
  const auto key = [](const Event& save) {
    return std::tuple(save.root, save.slots.front().name, save.slots.front().storage);
  };
  return key(event) < key(other);
}

}  // namespace

Window::Window(std::vector<HeldEvent> events, bool last) : events_(std::move(events)), last_(last) {
  const auto count = static_cast<std::uint32_t>(events_.size());
  end_.assign(count, count);
  parent_.assign(count, kNoIndex);
  item_of_.assign(count, kNoIndex);

  std::vector<std::uint32_t> open;
  std::uint32_t open_op = kNoIndex;
  const auto close = [&](std::uint32_t until) {
    const std::uint32_t index = open.back();
    open.pop_back();
    end_[index] = until;
    if (index == open_op) {
      open_op = kNoIndex;
    } else if (open_op == kNoIndex) {
      item_of_[index] = static_cast<std::uint32_t>(items_.size());
      items_.push_back({index, false});
    }
  };
  for (std::uint32_t index = 0; index < count; ++index) {
    const Event& current = event(index);
    while (!open.empty() && event(open.back()).position != current.parent) close(index);
    if (!open.empty()) parent_[index] = open.back();
    if (open_op != kNoIndex) {
      item_of_[index] = item_of_[open_op];
    } else if (current.kind == EventKind::op) {
      open_op = index;
      item_of_[index] = static_cast<std::uint32_t>(items_.size());
      items_.push_back({index, true});
    }
    open.push_back(index);
  }
  if (last_) {
    while (!open.empty()) close(count);
  } else if (open_op != kNoIndex) {
    const std::uint32_t unfinished = item_of_[open_op];
    items_.pop_back();
    std::replace(item_of_.begin() + open_op, item_of_.end(), unfinished, kNoIndex);
  }
  order_saves();
}

void Window::order_saves() {
  const auto saved = [&](const Item& item) { return item.op && saves_state(event(item.event)); };
  for (auto begin = items_.begin(); begin != items_.end();) {
    begin = std::find_if(begin, items_.end(), saved);
    const auto end = std::find_if_not(begin, items_.end(), saved);
    std::stable_sort(begin, end, [&](const Item& item, const Item& other) {
      return is_saved_before(event(item.event), event(other.event));
    });
    for (; begin != end; ++begin)
      item_of_[begin->event] = static_cast<std::uint32_t>(begin - items_.begin());
  }
}

std::uint32_t Window::find(std::uint64_t position) const {
  const auto at = std::lower_bound(
      events_.begin(), events_.end(), position,
      [](const HeldEvent& held, std::uint64_t wanted) { return held.event->position < wanted; });
  if (at == events_.end() || at->event->position != position) return kNoIndex;
  return static_cast<std::uint32_t>(at - events_.begin());
}

void Window::inner_ops(std::uint32_t index, std::vector<std::uint32_t>& ops) const {
  ops.clear();
  for (std::uint32_t inner = index + 1; inner < end(index);) {
    if (event(inner).kind == EventKind::op) {
      ops.push_back(inner);
      inner = end(inner);
    } else {
      ++inner;
    }
  }
}

std::vector<HeldEvent> Window::from_item(std::uint32_t item) const {
  std::vector<HeldEvent> rest;
  for (std::uint32_t index = 0; index < size(); ++index)
    if (item_of_[index] == kNoIndex || item_of_[index] >= item) rest.push_back(events_[index]);
  return rest;
}

bool accumulates(const Window& window, std::uint32_t op) {
  const std::uint32_t outer = window.parent(op);
  return outer != kNoIndex && window.event(outer).kind == EventKind::gradient;
}

bool zeroes_gradient(const Event& event) {
  return (event.op == "aten::zero_" || event.op == "aten::_foreach_zero_") &&
         writes(event, slot_flag::gradient);
}

bool updates_parameter(const Event& event) {
  return (event.flags & event_flag::in_optimizer) != 0 ||
         (event.phase == Phase::optimizer && writes(event, slot_flag::parameter));
}

bool takes_over_gradient(const Window& window, std::uint32_t gradient) {
  bool acts = false;
  for (std::uint32_t inner = gradient + 1; inner < window.end(gradient); ++inner) {
    if (window.event(inner).op == "aten::add_" || window.event(inner).op == "aten::add")
      return false;
    acts = acts || window.event(inner).kind == EventKind::op;
  }
  return acts;
}

}  // namespace ulpscope::comparison
