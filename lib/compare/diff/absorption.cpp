#include "compare/diff/absorption.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "compare/diff/evidence.hpp"
#include "compare/diff/outcomes/alone_memory.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::uint32_t kNamed =
    slot_flag::parameter | slot_flag::buffer | slot_flag::gradient | slot_flag::optimizer_state;

[[nodiscard]] bool is_seen_outside(const Event& op) noexcept {
  return op.op == kSave || op.op.find("c10d") != std::string_view::npos ||
         facts::Op(op.op).has(facts::fact::leaves_run);
}

/// The program can read it where it is, or a different rank receives it.
[[nodiscard]] bool goes_to_others(const Event& op, const SlotPair& slot) {
  if (is_seen_outside(op)) return true;
  const Slot& left = slot.any();
  if (slot.role() == Role::input || left.geometry == nullptr || left.geometry->device_type != 0)
    return false;
  return std::any_of(op.slots.begin(), op.slots.end(), [](const Slot& input) {
    return is_read(input) && input.geometry != nullptr && input.geometry->device_type != 0;
  });
}

/// What an optimizer keeps between its steps has no name while it runs. The forward and backward of
/// its closure, which run inside of it too, write none of that.
[[nodiscard]] bool changes_state(const Event& op, const Slot& slot) noexcept {
  const bool of_closure = (op.flags & event_flag::in_backward) != 0 || op.phase == Phase::forward ||
                          op.phase == Phase::backward;
  return slot.role == Role::mutated && (op.flags & event_flag::in_optimizer) && !of_closure;
}

[[nodiscard]] bool is_state(const Event& op, const SlotPair& slot) {
  return slot.role() != Role::input && (either(slot, kNamed) || changes_state(op, slot.any()));
}

[[nodiscard]] bool covers(const Extent& whole, const Extent& part) noexcept {
  return whole.without_gaps && whole.begin <= part.begin && part.end <= whole.end;
}

[[nodiscard]] bool is_floating(const Slot& slot) noexcept {
  return slot.geometry != nullptr &&
         (is_floating_point(slot.geometry->dtype) || is_complex(slot.geometry->dtype));
}

/// Its result carries on what it reads. One that gives back what it was given computes nothing, and
/// whether numbers are finite, or which is the largest, says too little of them.
[[nodiscard]] bool computes_from_values(const Event& op) {
  bool reads_floats = false;
  bool leaves_any = false;
  bool leaves_floats = false;
  for (const Slot& slot : op.slots) {
    if (is_read(slot)) reads_floats = reads_floats || is_floating(slot);
    if (!writes(slot)) continue;
    leaves_any = true;
    leaves_floats = leaves_floats || is_floating(slot);
  }
  return leaves_any && (leaves_floats || !reads_floats);
}

/// A result that is known neither to be equal nor to differ.
[[nodiscard]] bool is_left_uncompared(const SlotPair& slot) {
  return slot.role() != Role::input && !was_compared(slot.match) && !is_difference(slot.match) &&
         slot.match != Match::aside && slot.match != Match::uninitialised;
}

[[nodiscard]] bool are_traced(const std::set<std::uint32_t>& findings) {
  return !findings.empty() && std::all_of(findings.begin(), findings.end(), is_kept);
}

}  // namespace

template <class Take>
void Absorption::visit(Side side, const Slot& slot, Take take) {
  const auto known = on(written_, side).find(slot.storage);
  if (slot.storage == kNone || known == on(written_, side).end()) return;
  const Extent there = extent(slot);
  for (Written& written : known->second)
    if (there.begin < written.extent.end && written.extent.begin < there.end) take(written);
}

std::size_t Absorption::group_of(std::uint32_t finding) {
  const auto [at, added] = groups_by_finding_.try_emplace(finding, groups_.size());
  if (added) groups_.push_back({{finding}, false, {}});
  return at->second;
}

void Absorption::join(const std::set<std::uint32_t>& findings) {
  if (findings.size() < 2) return;
  const std::size_t into = group_of(*findings.begin());
  for (const std::uint32_t finding : findings) {
    const std::size_t from = group_of(finding);
    if (from == into) continue;
    Group gone = std::exchange(groups_[from], {});
    Group& group = groups_[into];
    for (const std::uint32_t member : gone.findings) groups_by_finding_[member] = into;
    group.findings.merge(gone.findings);
    group.left = group.left || gone.left;
    for (auto& [step, absorbed] : gone.ended) group.ended.insert_or_assign(step, absorbed);
  }
}

void Absorption::leave(const std::set<std::uint32_t>& findings) {
  if (!are_traced(findings)) return give_up();
  for (const std::uint32_t finding : findings) groups_[group_of(finding)].left = true;
}

void Absorption::leave(const Slot* reference, const Slot* candidate,
                       const std::optional<Source>& source) {
  std::set<std::uint32_t> findings;
  if (source) findings.insert(source->finding);
  for (const Side side : kSides)
    if (const Slot* const slot = side == Side::reference ? reference : candidate; slot != nullptr)
      visit(side, *slot, [&](const Written& written) { findings.insert(written.finding); });
  leave(findings);
}

void Absorption::end(std::uint32_t finding, std::int64_t step, Absorbed absorbed) {
  groups_[group_of(finding)].ended.insert_or_assign(step, std::move(absorbed));
}

/// Notes what is read, and adds the findings because of which it differs.
void Absorption::read(Side side, const Window& window, std::uint32_t op, bool takes_over,
                      std::set<std::uint32_t>& findings) {
  if (on(written_, side).empty()) return;
  for (std::uint32_t index = op; index < window.end(op); ++index) {
    const Event& event = window.event(index);
    if (event.flags & event_flag::view) continue;
    for (const Slot& slot : event.slots) {
      if (!is_read(slot)) continue;
      visit(side, slot, [&](Written& written) {
        written.read = written.read || (takes_over && covers(extent(slot), written.extent));
        findings.insert(written.finding);
      });
    }
  }
}

void Absorption::write(Side side, const Slot& slot, Written written) {
  if (slot.storage == kNone || !writes(slot)) return;
  auto& storages = on(written_, side);
  if (storages.size() >= kKept) return give_up();
  forget(side, slot);
  written.extent = extent(slot);
  storages[slot.storage].push_back(std::move(written));
}

/// What both runs read here is equal again: where an op that one run alone has made it, the
/// difference ended there.
void Absorption::end_what_one_run_made(const Compared& op) {
  for (const SlotPair& slot : op.slots) {
    if (slot.match != Match::equal || !is_read(slot.any())) continue;
    for (const Side side : kSides)
      visit(side, *slot.of(side), [&](const Written& written) {
        if (!written.alone) return;
        Absorbed absorbed{written.op, written.step, {}};
        on(absorbed.event, side) = written.position;
        end(written.finding, op.scene.step, std::move(absorbed));
      });
  }
}

/// What was read of this memory is of no account any more, once it is written as a whole.
void Absorption::forget(Side side, const Slot& slot) {
  const auto known = on(written_, side).find(slot.storage);
  if (known == on(written_, side).end()) return;
  const Extent whole = extent(slot);
  std::erase_if(known->second, [&](const Written& written) {
    return written.read && covers(whole, written.extent);
  });
}

void Absorption::passed(const Compared& op) {
  const bool nothing_known = written_.reference.empty() && written_.candidate.empty();
  if (given_up_ || (nothing_known && !op.differs && !op.is_seen)) return;
  const Event& event = op.scene.windows.reference->event(op.at.reference);
  const Event& other = op.scene.windows.candidate->event(op.at.candidate);
  end_what_one_run_made(op);
  std::set<std::uint32_t> findings;
  const bool takes_over = computes_from_values(event);
  read(Side::reference, *op.scene.windows.reference, op.at.reference, takes_over, findings);
  read(Side::candidate, *op.scene.windows.candidate, op.at.candidate, takes_over, findings);
  for (const SlotPair& slot : op.slots)
    if (slot.match == Match::equal && slot.role() != Role::input)
      for (const Side side : kSides) forget(side, *slot.of(side));
  const bool ended_otherwise = (event.flags ^ other.flags) & event_flag::threw;
  if (!op.differs && !op.is_seen && !ended_otherwise) return;
  if (op.source) findings.insert(op.source->finding);
  if (!are_traced(findings)) return give_up();
  join(findings);
  const bool passes_on = event.kind == EventKind::op || event.kind == EventKind::node ||
                         event.kind == EventKind::scope;
  const auto leaves = [&](const SlotPair& slot) {
    if (!is_difference(slot.match)) return is_left_uncompared(slot);
    return !passes_on || is_state(event, slot) || goes_to_others(event, slot);
  };
  if (op.is_seen || ended_otherwise || std::any_of(op.slots.begin(), op.slots.end(), leaves))
    return leave(findings);
  if (groups_[group_of(*findings.begin())].left) return;
  bool any = false;
  for (const SlotPair& slot : op.slots) {
    if (slot.role() == Role::input || !is_difference(slot.match)) continue;
    any = true;
    const Written written{*findings.begin(), false, false, {}, kNone, {}, {}};
    for (const Side side : kSides)
      if (const Slot* const one = slot.of(side)) write(side, *one, written);
  }
  if (!any && takes_over)
    end(*findings.begin(), op.scene.step,
        {std::string(event.op), reported_step(op.scene.step), {event.position, other.position}});
}

void Absorption::passed_alone(const Scene& scene, Side side, std::uint32_t op,
                              const Source& source) {
  if (given_up_) return;
  const Window& window = *on(scene.windows, side);
  const Event& event = window.event(op);
  std::set<std::uint32_t> findings;
  read(side, window, op, computes_from_values(event), findings);
  if (source.finding != kNoFinding) findings.insert(source.finding);
  if (findings.empty()) return;
  if (!are_traced(findings)) return give_up();
  join(findings);
  for (std::uint32_t index = op; index < window.end(op); ++index)
    for (const Slot& slot : window.event(index).slots)
      if (writes(slot) && (slot.flags & kNamed || changes_state(event, slot)))
        return leave(findings);
  if (is_seen_outside(event)) return leave(findings);
  const auto step = reported_step(side == Side::reference ? scene.step : scene.candidate_step);
  for (const Slot& slot : event.slots)
    if (slot.role != Role::input)
      write(side, slot,
            {*findings.begin(), false, true, std::string(event.op), event.position, step, {}});
}

void Absorption::absorb(FindingBook& book) {
  for (const Group& group : groups_)
    if (group.left)
      for (const std::uint32_t finding : group.findings) book.show_in_outcome(finding);
  if (given_up_ || book.left_out() > 0) return;
  for (const Side side : kSides)
    for (const auto& [storage, values] : on(written_, side))
      for (const Written& written : values)
        if (!written.read) groups_[group_of(written.finding)].left = true;
  const auto is_of_program = [&](std::uint32_t finding) {
    const FindingKind kind = book.records()[finding].finding.kind;
    return kind == FindingKind::sequence || kind == FindingKind::arguments;
  };
  for (const Group& group : groups_) {
    if (group.left || group.ended.empty() ||
        !std::all_of(group.findings.begin(), group.findings.end(), is_of_program))
      continue;
    for (const std::uint32_t finding : group.findings) {
      auto ended = group.ended.lower_bound(step_of(book.records()[finding].finding));
      if (ended == group.ended.end()) ended = group.ended.begin();
      book.absorb(finding, ended->second);
    }
  }
}

}  // namespace ulpscope::comparison
