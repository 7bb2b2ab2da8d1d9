#include "compare/diff/explain/stretch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "compare/diff/finding_writer.hpp"
#include "compare/diff/optimizer_options.hpp"
#include "compare/diff/units.hpp"
#include "compare/model/draws.hpp"
#include "compare/model/place.hpp"
#include "compare/model/structure.hpp"
#include "compare/model/words.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison {
namespace {

/// A floating-point tensor is converted to a different floating-point dtype.
[[nodiscard]] bool casts(const Event& event) {
  if (!facts::Op(event.op).has(facts::fact::casts)) return false;
  const Geometry* from = nullptr;
  const Geometry* to = nullptr;
  for (const Slot& slot : event.slots) {
    if (slot.role == Role::input && from == nullptr) from = slot.geometry;
    if (slot.role == Role::output && to == nullptr) to = slot.geometry;
  }
  return from != nullptr && to != nullptr && from->dtype != to->dtype &&
         is_floating_point(from->dtype) && is_floating_point(to->dtype);
}

/// Adds the names of the parameters that an op updates, each once.
void add_updated(const Event& event, std::vector<std::string>& names) {
  for (const Slot& slot : event.slots)
    if (slot.role == Role::mutated && (slot.flags & slot_flag::parameter) && !slot.name.empty() &&
        std::find(names.begin(), names.end(), slot.name) == names.end())
      names.emplace_back(slot.name);
}

[[nodiscard]] bool op_has(const Event& event, std::uint32_t any_fact) {
  return facts::Op(event.op).has(any_fact);
}

/// Of an op and all that it calls.
void add_positions(const Window& window, std::uint32_t op,
                   std::unordered_set<std::uint64_t>& positions) {
  for (std::uint32_t inner = op; inner < window.end(op); ++inner)
    positions.insert(window.event(inner).position);
}

/// The forward op of the node that reads what the engine has summed; without a position if that is
/// not known.
[[nodiscard]] EventPlace summed_for(const Window& window, std::uint32_t sum) {
  const std::uint64_t first = window.event(sum).position;
  const std::uint64_t last = window.event(window.end(sum) - 1).position;
  for (std::uint32_t reader = window.end(sum); reader < window.size(); ++reader)
    for (const Slot& slot : window.event(reader).slots)
      if (slot.role == Role::input && first <= slot.writer && slot.writer <= last)
        return forward_place(window, reader);
  return {};
}

/// The stretch is what backward does for an op whose result only the other run detaches: its node,
/// or the sum of what several readers of the result pass to it.
[[nodiscard]] std::optional<Source> cut_by_detach(const Stretch& stretch) {
  for (const auto& [side, window, index] : stretch.units) {
    const Event& event = window.event(index);
    if (!(event.flags & event_flag::in_backward)) return std::nullopt;
    EventPlace forward = forward_place(window, index);
    if (forward.position == kNone && op_has(event, facts::fact::of_engine))
      forward = summed_for(window, index);
    if (auto source = stretch.state.ledger.find(differing::detached(side, forward))) return source;
  }
  return std::nullopt;
}

/// The reason of the first unit, if all have one.
template <class Find>
[[nodiscard]] std::optional<Source> of_every_unit(const Stretch& stretch, Find find) {
  std::optional<Source> first;
  for (const Stretch::Alone& one : stretch.units) {
    const std::optional<Source> source = find(one);
    if (!source) return std::nullopt;
    if (!first) first = source;
  }
  return first;
}

/// The stretch is what backward does for forward ops that were given different arguments.
[[nodiscard]] std::optional<Source> follows_arguments(const Stretch& stretch) {
  return of_every_unit(stretch, [&](const Stretch::Alone& one) -> std::optional<Source> {
    if (!(one.window.event(one.index).flags & event_flag::in_backward)) return std::nullopt;
    return stretch.state.ledger.find(
        differing::arguments(one.side, forward_place(one.window, one.index)));
  });
}

/// The engine adds what several readers of a value pass to it.
[[nodiscard]] bool sums_gradients(const Window& window, std::uint32_t op) {
  const Event& event = window.event(op);
  return op_has(event, facts::fact::of_engine) && facts::Op(event.op).plain_name() == "add" &&
         forward_place(window, op).position == kNone && !accumulates(window, op);
}

/// The finding is that one run alone has an op.
[[nodiscard]] bool is_of_sequence(const RankState& state, const Source& source) {
  return is_kept(source.finding) &&
         state.book.records()[source.finding].finding.kind == FindingKind::sequence;
}

using Positions = std::unordered_set<std::uint64_t>;

/// A node without a partner.
[[nodiscard]] bool is_alone(const Stretch& stretch, Side side, std::uint32_t node) {
  const auto& entries = stretch.walk.entries();
  const std::uint32_t item = on(stretch.scene.windows, side)->item_of(node);
  for (std::size_t k = stretch.walk.cursor(); k < entries.size(); ++k)
    if ((side == Side::reference ? entries[k].reference : entries[k].candidate) == item)
      return !entries[k].aligned();
  return false;
}

/// Why one run alone has a gradient that an op of backward reads: one that is made before in the
/// stretch, which follows from `source`, or by ops of that run alone, or that a node of that run
/// alone passes on.
[[nodiscard]] std::optional<Source> has_gradient_alone(const Stretch& stretch,
                                                       const Stretch::Alone& one,
                                                       const Positions& before,
                                                       const std::optional<Source>& source) {
  const auto& [side, window, index] = one;
  const Event& event = window.event(index);
  const bool accumulated = accumulates(window, index);
  const std::uint32_t node = accumulated ? kNoIndex : linked_node(window, index);
  const bool in_node = node != kNoIndex;
  if (!accumulated && !in_node && !op_has(event, facts::fact::of_engine)) return std::nullopt;
  Ledger& ledger = stretch.state.ledger;
  for (const Slot& slot : (in_node ? window.event(node) : event).slots) {
    if (slot.role != Role::input) continue;
    if (before.contains(slot.writer)) return source;
    if (accumulated) continue;
    const auto made = on(ledger.memory, side).find(slot, stretch.scene.step);
    if (made && (!in_node || is_of_sequence(stretch.state, *made))) return made;
    const auto passed = ledger.find(differing::passed_on(side, {slot.writer_lane, slot.writer}));
    if (passed && (in_node ? is_alone(stretch, side, node) : sums_gradients(window, index)))
      return passed;
  }
  return std::nullopt;
}

/// The stretch is what backward does for forward ops that only one run has, and for their
/// gradients, the parameters' included: it follows from those. The other run sums fewer gradients.
[[nodiscard]] std::optional<Source> follows_alone(const Stretch& stretch) {
  std::optional<Source> source;
  Both<Positions> before;  // of the stretch's own ops
  for (const Stretch::Alone& one : stretch.units) {
    const auto& [side, window, index] = one;
    const Event& event = window.event(index);
    if (!(event.flags & event_flag::in_backward)) return std::nullopt;
    const EventPlace forward = forward_place(window, index);
    auto why = why_of_backward(stretch.state.ledger, side, forward);
    if (!why) why = has_gradient_alone(stretch, one, on(before, side), source);
    if (!why && !sums_gradients(window, index)) return std::nullopt;
    if (!source) source = why;
    add_positions(window, index, on(before, side));
  }
  return source;
}

/// The stretch is what backward does for forward ops that both runs have and compute through
/// different ops: a different library's, which has its own node. It does the same to values that
/// differ already.
[[nodiscard]] std::optional<Source> computed_otherwise(const Stretch& stretch) {
  const std::set<std::uint64_t>& replaced =
      stretch.replaced.numbers(stretch.state, stretch.walk, stretch.scene);
  if (replaced.empty()) return std::nullopt;
  std::optional<Source> source;
  Both<std::unordered_set<std::uint64_t>> before;  // positions of the stretch's own ops
  for (const auto& [side, window, index] : stretch.units) {
    const Event& event = window.event(index);
    if (!(event.flags & event_flag::in_backward)) return std::nullopt;
    const EventPlace forward = forward_place(window, index);
    const auto number = on(stretch.state.partners.otherwise_computed, side).find(forward);
    const bool belongs = number && replaced.contains(*number);
    // What its nodes pass on may be summed differently, and taken over, but not added to a gradient
    // that the other run has dropped.
    const bool added = facts::Op(event.op).plain_name() == "add";
    const bool between_nodes = forward.position == kNone && op_has(event, facts::fact::of_engine);
    if (!belongs && !between_nodes && !accumulates(window, index)) return std::nullopt;
    if (accumulates(window, index) && added) return std::nullopt;
    // Of what is summed, a part may be equal in both runs.
    bool tied = belongs || stretch.state.mode.injected;
    for (const Slot& slot : event.slots) {
      if (slot.role != Role::input) continue;
      const auto why = on(stretch.state.ledger.memory, side).find(slot, stretch.scene.step);
      tied = tied || why || on(before, side).contains(slot.writer);
      if (!source) source = why;
    }
    if (!tied) return std::nullopt;
    add_positions(window, index, on(before, side));
  }
  if (!source && stretch.state.mode.injected) return Source{};  // what differed was given
  return source;
}

/// The stretch is a part of an update that one run alone makes in lists of parameters. It does the
/// same to values that differ already.
[[nodiscard]] std::optional<Source> updated_in_lists(const Stretch& stretch) {
  std::optional<Source> source;
  for (const auto& [side, window, index] : stretch.units) {
    source = stretch.in_lists.reason(stretch.state, stretch.scene, side, index);
    if (!source) return std::nullopt;
  }
  return source;
}

/// Its ops return their inputs in a different layout, as a tensor with a different layout needs.
[[nodiscard]] bool only_copies(const Stretch& stretch) {
  return std::all_of(stretch.units.begin(), stretch.units.end(), [](const Stretch::Alone& one) {
    const Event& event = one.window.event(one.index);
    return op_has(event, facts::fact::relays_out) ||
           (accumulates(one.window, one.index) && op_has(event, facts::fact::takes_over));
  });
}

/// An op was given a different parameter with the same content, and only one run has gradients and
/// updates that follow from it.
[[nodiscard]] std::optional<Source> follows_other_parameter(const Stretch& stretch) {
  if (stretch.units.empty()) return std::nullopt;
  const auto first =
      std::find_if(stretch.units.begin(), stretch.units.end(),
                   [](const Stretch::Alone& one) { return one.side == Side::reference; });
  const Stretch::Alone& one = first == stretch.units.end() ? stretch.units.front() : *first;
  const Event& event = one.window.event(one.index);
  const bool follows_gradients =
      (event.flags & (event_flag::in_backward | event_flag::in_optimizer)) != 0 ||
      event.phase == Phase::optimizer;
  return follows_gradients ? stretch.state.partners.other_parameters.first() : std::nullopt;
}

/// Why one run alone has the gradients of all parameters that an op touches.
[[nodiscard]] std::optional<Source> has_gradients_alone(const RankState& state, const Scene& scene,
                                                        const Event& event) {
  std::optional<Source> source;
  for (const Slot& slot : event.slots) {
    if (!(slot.flags & (slot_flag::parameter | slot_flag::gradient))) continue;
    const std::string_view of = parameter_of(slot.name);
    source = state.ledger.find(
        differing::gradient_alone(event.root, of.empty() ? slot.name : of, scene.step));
    if (!source) return std::nullopt;
  }
  return source;
}

/// A gradient is accumulated whose parameter one run alone updates.
[[nodiscard]] std::optional<Source> updated_alone(const RankState& state, const Window& window,
                                                  std::uint32_t op) {
  const std::string_view parameter = accumulated_parameter(window, op);
  if (parameter.empty()) return std::nullopt;
  return state.ledger.find(
      differing::updated_alone(window.event(window.parent(op)).root, parameter));
}

[[nodiscard]] bool touches_named(const Event& event) {
  return std::any_of(event.slots.begin(), event.slots.end(),
                     [](const Slot& slot) { return !slot.name.empty(); });
}

/// An optimizer that updates a parameter in one run alone keeps account of it, such as of its
/// steps.
[[nodiscard]] std::optional<Source> keeps_account(const RankState& state,
                                                  const Stretch::Alone& one) {
  const std::uint32_t step = optimizer_around(one.window, one.index);
  if (touches_named(one.window.event(one.index)) || step == kNoIndex) return std::nullopt;
  return state.ledger.find(differing::updated_by(one.side, one.window.event(step).object));
}

/// All that an op writes was last written by ops of its run alone.
[[nodiscard]] std::optional<Source> written_alone(RankState& state, const Scene& scene, Side side,
                                                  const Event& event) {
  std::optional<Source> source;
  for (const Slot& slot : event.slots) {
    if (slot.role != Role::mutated) continue;
    source = on(state.ledger.memory, side).find(slot, scene.step);
    if (!source || !source->written_alone) return std::nullopt;
  }
  return source;
}

/// Why one run alone trains what a unit does.
[[nodiscard]] std::optional<Source> why_alone(const Stretch& stretch, const Stretch::Alone& one) {
  RankState& state = stretch.state;
  const Event& event = one.window.event(one.index);
  if (accumulates(one.window, one.index)) return updated_alone(state, one.window, one.index);
  if (!updates_parameter(event)) return std::nullopt;
  if (auto source = has_gradients_alone(state, stretch.scene, event)) return source;
  if (auto source = written_alone(state, stretch.scene, one.side, event)) return source;
  return keeps_account(state, one);
}

/// It copies values that differ already.
[[nodiscard]] std::optional<Source> copies_differing(const Stretch& stretch) {
  auto source = differs_already(stretch);
  return source && only_copies(stretch) ? source : std::nullopt;
}

/// An optimizer takes another path because of numbers that it has read and that differ.
[[nodiscard]] std::optional<Source> goes_by_numbers(const Stretch& stretch) {
  return of_every_unit(stretch, [&](const Stretch::Alone& one) -> std::optional<Source> {
    const std::uint32_t step = optimizer_around(one.window, one.index);
    if (step == kNoIndex) return std::nullopt;
    return stretch.state.ledger.find(differing::number_of_update(
        one.side, {on(stretch.scene.lanes, one.side)->id, one.window.event(step).position}));
  });
}

/// It prepares other samples, because the program has drawn other integers.
[[nodiscard]] std::optional<Source> prepares_drawn_samples(const Stretch& stretch) {
  const auto& drawn = stretch.state.ledger.last(Differing::drawn_order);
  if (!drawn || drawn->finding == kNoFinding) return std::nullopt;
  const bool of_data =
      std::all_of(stretch.units.begin(), stretch.units.end(), [](const Stretch::Alone& one) {
        const Event& event = one.window.event(one.index);
        return !event.has_module && (event.phase == Phase::data || event.phase == Phase::setup);
      });
  return of_data ? drawn : std::nullopt;
}

/// Units of one run, those in one part that read what others of it have made.
class ConnectedUnits {
 public:
  explicit ConnectedUnits(const std::vector<Stretch::Alone>& units)
      : units_(units), parts_(units.size()) {
    std::iota(parts_.begin(), parts_.end(), std::size_t{0});
    std::unordered_map<std::uint64_t, std::size_t> makers;  // by position
    std::unordered_map<std::uint64_t, std::size_t>
        viewers;  // by the storage that they give a view of
    for (std::size_t k = 0; k < units.size(); ++k) {
      const Event& outermost = units[k].window.event(units[k].index);
      for_each_event(k, [&](const Event& event) {
        makers.emplace(event.position, k);
        for (const Slot& slot : event.slots) {
          if (slot.role == Role::output && !(slot.flags & slot_flag::view) &&
              !is_given(event, slot.storage))
            made_.insert(slot.storage);
          if (slot.role != Role::input) continue;
          if (const auto maker = makers.find(slot.writer); maker != makers.end())
            join(k, maker->second);
          if (const auto viewer = viewers.find(slot.storage); viewer != viewers.end())
            join(k, viewer->second);
        }
      });
      for (const Slot& slot : outermost.slots)
        if (slot.role == Role::output && (slot.flags & slot_flag::view))
          viewers.emplace(slot.storage, k);
    }
  }

  [[nodiscard]] std::size_t part_of(std::size_t unit) const {
    while (parts_[unit] != unit) unit = parts_[unit];
    return unit;
  }

  /// It writes memory that no unit has made, draws, saves, or passes gradients.
  [[nodiscard]] bool changes_something(std::size_t unit, const AloneMemory& memory) const {
    bool changes = false;
    const Event& outermost = units_[unit].window.event(units_[unit].index);
    for_each_event(unit, [&](const Event& event) {
      changes = changes || drew(event) || event.op == kSave || gives_memory(event) ||
                (event.flags & (event_flag::in_backward | event_flag::in_optimizer)) != 0;
      for (const Slot& slot : event.slots) {
        if (slot.role != Role::mutated || !writes(slot)) continue;
        const bool made = made_.contains(slot.storage) || memory.made(slot);
        // An op may allocate memory for itself, unseen.
        const bool is_own = &event != &outermost && slot.name.empty() && slot.writer == kNone;
        changes = changes || (!made && !is_own);
      }
    });
    return changes;
  }

 private:
  void join(std::size_t unit, std::size_t other) { parts_[part_of(unit)] = part_of(other); }

  template <class Visit>
  void for_each_event(std::size_t unit, Visit visit) const {
    const auto& [side, window, index] = units_[unit];
    for (std::uint32_t inner = index; inner < window.end(index); ++inner)
      visit(window.event(inner));
  }

  const std::vector<Stretch::Alone>& units_;
  std::vector<std::size_t> parts_;
  std::unordered_set<std::uint64_t> made_;  ///< storages
};

struct Explainer {
  std::string_view name;
  std::optional<Source> (*explain)(const Stretch& stretch);
  bool of_ops = true;  ///< not where only layers are recorded
  bool computed_otherwise = false;
  bool has_effect = false;
};

/// In this order: the first that knows a reason.
constexpr std::array kExplainers{
    Explainer{"computed by other ops", computed_otherwise, true, true, false},
    Explainer{"updated in lists", updated_in_lists, true, true, false},
    Explainer{"other parameter", follows_other_parameter, false, false, true},
    Explainer{"detached", cut_by_detach, true, false, true},
    Explainer{"backward of other arguments", follows_arguments, true, false, true},
    Explainer{"backward of what one run has", follows_alone, true, false, true},
    Explainer{"copies", copies_differing, true, false, false},
    Explainer{"numbers of an update", goes_by_numbers, true, false, true},
    Explainer{"samples drawn", prepares_drawn_samples, true, false, false},
};

}  // namespace

Stretch::Stretch(RankState& rank_state, const LaneWalk& lane_walk, const Scene& lane_scene,
                 std::size_t end_entry, ReplacedBackwards& replaced_backwards,
                 UpdatesInLists& updates_in_lists)
    : state(rank_state),
      walk(lane_walk),
      scene(lane_scene),
      end(end_entry),
      replaced(replaced_backwards),
      in_lists(updates_in_lists) {
  for (std::size_t k = walk.cursor(); k < end; ++k) {
    const EventPair at = walk.events_of(walk.entries()[k]);
    const Side side = at.reference != kNoIndex ? Side::reference : Side::candidate;
    const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
    const Window& window = *on(scene.windows, side);
    all.push_back({side, window, index});
    if (is_unit(state, window.event(index)) && !is_ignored(state, window.event(index)))
      units.push_back({side, window, index});
  }
}

std::vector<Stretch::Alone> part_that_looks(const Stretch& stretch) {
  const auto& units = stretch.units;
  if (units.size() < 2) return {};
  const bool of_one_run = std::all_of(units.begin(), units.end(), [&](const Stretch::Alone& one) {
    return one.side == units.front().side;
  });
  if (!of_one_run || stretch.state.mode.only_layers) return {};
  ConnectedUnits connected(units);
  std::vector<bool> changes(units.size(), false);
  for (std::size_t k = 0; k < units.size(); ++k)
    if (connected.changes_something(k, on(stretch.state.memory.alone, units[k].side)))
      changes[connected.part_of(k)] = true;
  std::vector<Stretch::Alone> looks;
  if (changes[connected.part_of(0)]) return looks;
  for (std::size_t k = 0; k < units.size(); ++k)
    if (!changes[connected.part_of(k)]) looks.push_back(units[k]);
  if (looks.size() == units.size()) looks.clear();
  return looks;
}

/// Whether an op's results are memory that it was given, or that no op has written.
bool computes_nothing(const Event& event) {
  bool any = false;
  for (const Slot& slot : event.slots) {
    if (slot.role == Role::input) continue;
    any = true;
    const bool returns_given = slot.role == Role::output && is_given(event, slot.storage);
    if (!returns_given && !(slot.flags & (slot_flag::uninitialised | slot_flag::unproduced)))
      return false;
  }
  return any;
}

StretchContents contents_of(const Stretch& stretch) {
  StretchContents result;
  Both<bool> goes_on{};  // with the next forward
  for (const auto& [side, window, index] : stretch.units) {
    const Event& event = window.event(index);
    std::uint32_t& first =
        side == Side::reference ? result.first.reference : result.first.candidate;
    if (first == kNoIndex) first = index;
    on(result.ops, side).emplace_back(event.op);
    result.compute_nothing =
        result.compute_nothing &&
        (computes_nothing(event) ||
         stretch.state.random.own_draws.are_made_by_other(side, window, index));
    if (casts(event)) ++on(result.casts, side);
    for (const Slot& slot : event.slots)
      if (!slot.name.empty())
        on(result.names, side).emplace_back(slot.name);
      else if (writes(slot))
        on(result.written, side).push_back(slot.storage);
    const bool updating = event.phase == Phase::optimizer || event.phase == Phase::backward;
    if (!updates_parameter(event) && !updating) on(goes_on, side) = true;
    if (!on(goes_on, side)) add_updated(event, on(result.updated, side));
    for (std::uint32_t inner = index; inner < window.end(index); ++inner)
      result.draws = result.draws || drew(window.event(inner));
  }
  // Whoever has read it, in a part of its own, too.
  for (const auto& [side, window, index] : stretch.all)
    for (const Slot& slot : window.event(index).slots)
      if (slot.role == Role::input && (slot.flags & slot_flag::uninitialised))
        on(result.unwritten, side)
            .push_back(slot.name.empty() ? fmt::format("{}", slot.storage)
                                         : std::string(slot.name));
  return result;
}

std::optional<StretchReason> explain_stretch(const Stretch& stretch) {
  for (const Explainer& explainer : kExplainers) {
    if (explainer.of_ops && stretch.state.mode.only_layers) continue;
    if (auto source = explainer.explain(stretch))
      return StretchReason{*source, explainer.computed_otherwise, explainer.has_effect};
  }
  return std::nullopt;
}

std::optional<Source> differs_already(const Stretch& stretch, std::uint32_t flags) {
  for (const auto& [side, window, index] : stretch.all)
    for (const Slot& slot : window.event(index).slots)
      if (slot.role == Role::input && (flags == 0 || (slot.flags & flags)))
        if (const auto source =
                on(stretch.state.ledger.memory, side).find(slot, stretch.scene.step))
          return source;
  return std::nullopt;
}

std::optional<Source> why_of_backward(const Ledger& ledger, Side side, EventPlace forward) {
  if (forward.position == kNone) return std::nullopt;
  for (const auto key :
       {&differing::alone, &differing::of_alone_node, &differing::detached, &differing::arguments})
    if (auto source = ledger.find(key(side, forward))) return source;
  return std::nullopt;
}

const std::set<std::uint64_t>& ReplacedBackwards::numbers(const RankState& state,
                                                          const LaneWalk& walk,
                                                          const Scene& scene) {
  const std::size_t known = state.partners.otherwise_computed.reference.size();
  if (generation_ == walk.generation() && known_ == known) return numbers_;
  generation_ = walk.generation();
  known_ = known;
  numbers_.clear();
  if (known == 0) return numbers_;
  for (const Entry& entry : walk.entries()) {
    if (entry.aligned()) continue;
    const EventPair at = walk.events_of(entry);
    const Side side = at.reference != kNoIndex ? Side::reference : Side::candidate;
    const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
    const Window& window = *on(scene.windows, side);
    if (!is_unit(state, window.event(index))) continue;
    if (const auto number =
            on(state.partners.otherwise_computed, side).find(forward_place(window, index)))
      numbers_.insert(*number);
  }
  return numbers_;
}

std::string_view accumulated_parameter(const Window& window, std::uint32_t op) {
  for (const Slot& slot : window.event(window.parent(op)).slots)
    if (const std::string_view parameter = parameter_of(slot.name); !parameter.empty())
      return parameter;
  return {};
}

std::optional<Source> trains_alone(const Stretch& stretch) {
  std::optional<Source> first;
  for (const Stretch::Alone& one : stretch.units) {
    const Event& event = one.window.event(one.index);
    const std::optional<Source> source = why_alone(stretch, one);
    // What an update keeps has no name: it goes with the parameters around it.
    if (!source && !(updates_parameter(event) && !touches_named(event))) return std::nullopt;
    if (!first) first = source;
  }
  return first;
}

void note_detached(RankState& state, const LaneWalk& walk, const Scene& scene, Side side,
                   std::uint32_t event, const Source& source) {
  const Event& detach = on(scene.windows, side)->event(event);
  const auto input = std::find_if(detach.slots.begin(), detach.slots.end(),
                                  [](const Slot& slot) { return slot.role == Role::input; });
  if ((detach.flags & event_flag::in_backward) || input == detach.slots.end() ||
      input->writer_lane != on(scene.lanes, side)->id)
    return;
  const std::uint64_t number = walk.partner_number(side, input->writer);
  const Side other = the_other(side);
  const auto& partners = on(scene.partners, other);
  const auto maker = std::find(partners.begin(), partners.end(), number);
  if (number == 0 || maker == partners.end()) return;
  const Window& window = *on(scene.windows, other);
  const std::uint32_t made =
      window.items()[static_cast<std::size_t>(maker - partners.begin())].event;
  for (std::uint32_t inner = made; inner < window.end(made); ++inner)
    state.ledger.enter(
        differing::detached(other, {on(scene.lanes, other)->id, window.event(inner).position}),
        source);
}

}  // namespace ulpscope::comparison
