#include "compare/align/item_elements.hpp"

#include <algorithm>

#include "compare/align/relaxed_pass.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/structure.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool has_ops(const Window& window) {
  return std::any_of(window.items().begin(), window.items().end(),
                     [](const Item& item) { return item.op; });
}

/// A structure of which `parts` must agree, too.
template <class... Parts>
[[nodiscard]] std::uint64_t structure_with(std::uint64_t structure, const Parts&... parts) {
  KeyHash hash;
  hash.add(structure);
  (hash.add(parts), ...);
  return hash.value();
}

/// The same where there is no tie or call, which is 0 then.
[[nodiscard]] std::uint64_t structure_in(std::uint64_t structure, std::uint64_t part) {
  return part == 0 ? structure : structure_with(structure, part);
}

}  // namespace

ItemElements::ItemElements(const WindowPair& windows, const DroppedGradients& dropped,
                           const ForwardTies& ties, const SetupOrder& setup,
                           const MovedItems& moved, bool several_steps)
    : windows_(windows),
      dropped_(dropped),
      ties_(ties),
      setup_(setup),
      moved_(moved),
      several_steps_(several_steps),
      has_ops_(has_ops(windows.window(Side::reference)) ||
               has_ops(windows.window(Side::candidate))) {}

SequenceElement ItemElements::untied(Side side, std::uint32_t item, std::uint64_t call) const {
  return strict(side, item, 0, call);
}

SequenceElement ItemElements::tied(Side side, std::uint32_t item, std::uint64_t call) const {
  return strict(side, item, ties_.of(side, item), call);
}

SequenceElement ItemElements::strict(Side side, std::uint32_t item, std::uint64_t tie,
                                     std::uint64_t call) const {
  const Event& event = windows_.event_of(side, item);
  std::uint64_t structure = placed(structure_key(event, Place::counts), side, item);
  structure = structure_in(structure_in(structure, tie), call);
  structure = moved_.by_partner(structure, side, item);
  if (is_update_of_several(event)) return {.structure = structure, .weak = true};
  return {structure, input_key(event), output_key(event), is_marker(event), argument_key(event)};
}

SequenceElement ItemElements::relaxed(Side side, std::uint32_t item, std::uint64_t call) const {
  const Event& event = windows_.event_of(side, item);
  SequenceElement element = relaxed_element(event, is_marker(event));
  std::uint64_t structure =
      is_update_of_several(event) ? structure_key(event, Place::counts) : element.structure;
  structure = placed(structure, side, item);
  // The same op in a different node is the backward of a different op.
  if (const Event* node = windows_.node_around(side, item); node != nullptr)
    structure = structure_with(structure, node->op);
  structure = structure_in(structure_in(structure, call), ties_.of_both(side, item));
  if (setup_.differs(side, item))
    structure =
        structure_with(structure, std::uint64_t{side == Side::reference}, std::uint64_t{item});
  element.structure = moved_.by_partner(structure, side, item);
  return element;
}

/// Ends of scopes weigh less than ops, unless there are no ops.
bool ItemElements::is_marker(const Event& event) const {
  return has_ops_ && event.kind != EventKind::op;
}

/// In several steps there are several updates. What an optimizer reads and leaves, as its count of
/// steps, says how many were before this one, not which one it is.
bool ItemElements::is_update_of_several(const Event& event) const {
  return several_steps_ && event.kind == EventKind::op && event.phase == Phase::optimizer;
}

/// What adds to a parameter's gradient is not what backward adds up before.
std::uint64_t ItemElements::placed(std::uint64_t structure, Side side, std::uint32_t item) const {
  if (const std::int64_t times = dropped_.before(side, item); times != 0)
    structure = structure_with(structure, "dropped", static_cast<std::uint64_t>(times));
  const Window& window = windows_.window(side);
  const bool into_gradient = accumulates(window, window.items()[item].event);
  return into_gradient ? structure_with(structure, "into a gradient") : structure;
}

}  // namespace ulpscope::comparison
