#include "compare/align/step_border.hpp"

#include <algorithm>
#include <compare>
#include <set>

#include "compare/align/step_sketch.hpp"
#include "compare/model/structure.hpp"

namespace ulpscope::comparison {
namespace {

struct OpKey {
  std::uint64_t structure = 0;
  std::uint64_t inputs = 0;
  std::uint64_t outputs = 0;

  /// Nothing is known of the contents, as of those of a view: only its place says which one it is.
  [[nodiscard]] bool has_no_content() const { return inputs == 0 && outputs == 0; }

  friend auto operator<=>(const OpKey&, const OpKey&) = default;
};

[[nodiscard]] OpKey key_of(const Event& op) {
  return {structure_key(op, Place::counts), input_key(op), output_key(op)};
}

/// Ops among the items from `first` on.
[[nodiscard]] std::vector<std::uint32_t> op_events(const Window& window, std::uint32_t first) {
  std::vector<std::uint32_t> ops;
  for (const Item& item : window.items().subspan(first))
    if (item.op) ops.push_back(item.event);
  return ops;
}

/// In order, without scopes.
struct Op {
  std::uint32_t event = kNoIndex;
  OpKey key;
};

[[nodiscard]] std::vector<Op> ops_of(const Window& window, std::uint32_t first) {
  std::vector<Op> ops;
  for (const std::uint32_t event : op_events(window, first))
    ops.push_back({event, key_of(window.event(event))});
  return ops;
}

/// What prepares the forward of a step.
[[nodiscard]] Window preparation(const std::vector<HeldEvent>& step) {
  const auto end = std::find_if(step.begin(), step.end(), [](const HeldEvent& held) {
    return held.event->phase == Phase::forward || held.event->phase == Phase::backward;
  });
  return {std::vector<HeldEvent>(step.begin(), end), true};
}

}  // namespace

std::size_t events_before_border(const Window& window, std::uint32_t first,
                                 const std::vector<HeldEvent>& begins,
                                 const std::vector<HeldEvent>& begins_beside) {
  const std::vector<Op> ends = ops_of(window, first);
  std::set<OpKey> beside;
  for (const Op& op : ops_of(preparation(begins_beside), 0))
    if (!op.key.has_no_content()) beside.insert(op.key);
  const Window own = preparation(begins);
  auto next = ends.begin();
  bool in_a_row = false;
  std::size_t count = 0;
  for (const Op& op : ops_of(own, 0)) {
    if (beside.contains(op.key)) break;
    auto last = ends.end();
    if (op.key.has_no_content()) last = in_a_row && next != ends.end() ? next + 1 : next;
    const auto partner =
        std::find_if(next, last, [&](const Op& other) { return other.key == op.key; });
    in_a_row = partner != last;
    if (!in_a_row) continue;
    next = partner + 1;
    count = own.end(op.event);
  }
  return count;
}

std::size_t events_carried_over(const Window& window, std::uint32_t first,
                                const std::vector<HeldEvent>& begins,
                                const std::vector<HeldEvent>& begins_beside) {
  const std::vector<std::uint32_t> ends = op_events(window, first);
  const Window own(begins, true);
  const std::vector<std::uint32_t> ops = op_events(own, 0);
  const auto updates = [](const Event& op) { return op.phase == Phase::optimizer; };
  auto next = ops.begin();
  bool has_forward = false;
  for (const std::uint32_t end : ends) {
    const Event& op = window.event(end);
    const bool is_there = next != ops.end() && own.event(*next).op == op.op &&
                          updates(own.event(*next)) == updates(op);
    if (!is_there && !updates(op)) return 0;
    if (is_there) ++next;
    has_forward = has_forward || op.phase == Phase::forward;
  }
  if (!has_forward || next == ops.end()) return 0;
  const std::size_t count = *next;
  const Keys ours = outside_data(sketch(window.from_item(first)));
  const Keys theirs =
      outside_data(sketch({begins.begin(), begins.begin() + static_cast<std::ptrdiff_t>(count)}));
  const Keys beside = outside_data(sketch(begins_beside));
  return shared(ours, theirs) > shared(theirs, beside) ? count : 0;
}

}  // namespace ulpscope::comparison
