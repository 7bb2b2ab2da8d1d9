#include "compare/diff/boundary_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "compare/diff/finding_writer.hpp"
#include "compare/diff/producer.hpp"
#include "compare/measure/value_names.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/words.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool known_to_be_written_unseen(const SlotPair& slot) {
  constexpr std::uint32_t kUnseen = slot_flag::unproduced | slot_flag::changed;
  return ((slot.reference->flags | slot.candidate->flags) & kUnseen) &&
         !((slot.reference->flags | slot.candidate->flags) & slot_flag::uninitialised);
}

/// What a module returns and what its parameters and buffers hold leaves the run, whoever reads it.
[[nodiscard]] bool is_outcome(const Event& told, const SlotPair& slot) {
  if (either(slot, slot_flag::uninitialised)) return false;
  if (told.kind == EventKind::parameters) return !slot.reference->name.empty();
  return slot.role() != Role::input &&
         (told.kind == EventKind::module || told.kind == EventKind::module_output);
}

/// A result of a call or a gradient with respect to one. Its number says only how many of that call
/// the program came to read before.
[[nodiscard]] bool tells_of_one_value(const Event& event) {
  return (event.kind == EventKind::module_output || event.kind == EventKind::module_gradient) &&
         event.slots.size() == 1;
}

/// Of one name, as of memory without any, equal ones are partners first, then those that remain in
/// their order.
void pair_by_name(const Event& reference, const Event& candidate, std::vector<SlotPair>& slots) {
  slots.clear();
  std::map<std::string_view, std::vector<const Slot*>> named;
  for (const Slot& slot : candidate.slots) named[slot.name].push_back(&slot);
  std::vector<const Slot*> left;
  for (const Slot& slot : reference.slots) {
    const auto partners = named.find(slot.name);
    if (partners == named.end()) continue;
    auto& others = partners->second;
    const auto equal = std::find_if(others.begin(), others.end(), [&](const Slot* other) {
      return match(slot, *other) == Match::equal;
    });
    if (equal == others.end()) {
      left.push_back(&slot);
      continue;
    }
    slots.push_back({&slot, *equal, Match::equal, &reference});
    others.erase(equal);
  }
  for (const Slot* slot : left) {
    auto& others = named[slot->name];
    if (others.empty()) continue;
    slots.push_back({slot, others.front(), match(*slot, *others.front()), &reference});
    others.erase(others.begin());
  }
}

[[nodiscard]] std::vector<const Slot*> inputs_of(const Event& call) {
  std::vector<const Slot*> inputs;
  for (const Slot& slot : call.slots)
    if (slot.role == Role::input) inputs.push_back(&slot);
  return inputs;
}

[[nodiscard]] bool has_content_of(const std::vector<const Slot*>& inputs, const Slot& wanted) {
  if (wanted.flags & slot_flag::no_digest) return false;
  return std::any_of(inputs.begin(), inputs.end(), [&](const Slot* one) {
    return one->digest == wanted.digest && !(one->flags & slot_flag::no_digest);
  });
}

/// The inputs of a call are numbered in the order in which it reads them, and a value that is seen
/// in two shapes is two of them. A rewrite may change both: equal ones are partners first, then
/// those of one shape in their order, then those of one number, unless the other run has them in a
/// different shape.
class InputPairs {
 public:
  InputPairs(const Event& reference, const Event& candidate)
      : owner_(reference), left_(inputs_of(reference)), right_(inputs_of(candidate)) {}

  void append_to(std::vector<SlotPair>& slots) {
    const Both<std::vector<const Slot*>> all{left_, right_};
    pair(slots, [](const Slot& a, const Slot& b) { return match(a, b) == Match::equal; });
    pair(slots, [](const Slot& a, const Slot& b) { return match(a, b) != Match::metadata; });
    std::erase_if(left_, [&](const Slot* slot) { return has_content_of(all.candidate, *slot); });
    std::erase_if(right_, [&](const Slot* slot) { return has_content_of(all.reference, *slot); });
    pair(slots, [](const Slot& a, const Slot& b) { return a.index == b.index; });
  }

 private:
  template <class Partners>
  void pair(std::vector<SlotPair>& slots, Partners partners) {
    std::erase_if(left_, [&](const Slot* a) {
      const auto b = std::find_if(right_.begin(), right_.end(),
                                  [&](const Slot* other) { return partners(*a, *other); });
      if (b == right_.end()) return false;
      slots.push_back({a, *b, match(*a, **b), &owner_});
      right_.erase(b);
      return true;
    });
  }

  const Event& owner_;
  std::vector<const Slot*> left_;
  std::vector<const Slot*> right_;
};

/// Whether they hold the same values, but not each the same.
[[nodiscard]] bool hold_the_same(const std::vector<SlotPair>& parameters) {
  Both<std::vector<Digest>> held;
  for (const SlotPair& slot : parameters) {
    if (slot.match != Match::differs) return false;
    held.reference.push_back(slot.reference->digest);
    held.candidate.push_back(slot.candidate->digest);
  }
  for (const Side side : kSides) std::sort(on(held, side).begin(), on(held, side).end());
  return parameters.size() > 1 && held.reference == held.candidate;
}

[[nodiscard]] bool is_different_input(const SlotPair& slot) {
  return slot.role() == Role::input && is_difference(slot.match);
}

}  // namespace

void compare_boundary_slots(const Event& reference, const Event& candidate,
                            std::vector<SlotPair>& slots) {
  if (reference.kind == EventKind::parameters) {
    pair_by_name(reference, candidate, slots);
    return;
  }
  if (tells_of_one_value(reference) && tells_of_one_value(candidate)) {
    const Slot& a = reference.slots.front();
    const Slot& b = candidate.slots.front();
    slots.clear();
    if (a.role == b.role) slots.push_back({&a, &b, match(a, b), &reference});
    return;
  }
  compare_slots(reference, candidate, slots);
  if (reference.kind == EventKind::module &&
      std::any_of(slots.begin(), slots.end(), is_different_input)) {
    std::erase_if(slots, [](const SlotPair& slot) { return slot.role() == Role::input; });
    const std::vector<SlotPair> results = std::exchange(slots, {});
    InputPairs(reference, candidate).append_to(slots);
    std::sort(slots.begin(), slots.end(), [](const SlotPair& a, const SlotPair& b) {
      return a.reference->index < b.reference->index;
    });
    slots.insert(slots.end(), results.begin(), results.end());
  }
  std::erase_if(slots, [](const SlotPair& slot) { return slot.match == Match::one_sided; });
}

Judgement BoundaryJudge::judge(const Scene& scene, EventPair at) {
  Judgement judgement;
  compare_boundary_slots(scene.windows.reference->event(at.reference),
                         scene.windows.candidate->event(at.candidate), slots_);
  const Event& told = scene.windows.reference->event(at.reference);
  std::vector<SlotPair> unexplained;
  for (const SlotPair& slot : slots_) {
    if (told.kind == EventKind::parameters)
      state_.partners.other_parameters.see(told.root, slot.reference->name);
    if (was_compared(slot.match)) ++judgement.compared;
    if (!is_difference(slot.match)) continue;
    auto source = state_.ledger.memory.reference.find(*slot.reference, scene.step);
    const auto other = state_.ledger.memory.candidate.find(*slot.candidate, scene.step);
    if (!source) source = other;
    if (!source && told.kind == EventKind::parameters && slot.match == Match::differs)
      source =
          state_.ledger.find(differing::contents(slot.reference->digest, slot.candidate->digest));
    if (told.kind != EventKind::module || slot.role() != Role::input)
      state_.memory.absorption.leave(slot.reference, slot.candidate, source);
    if (source) {
      judgement.differs = true;
      judgement.outcome = Judged::propagated;
      judgement.follows = true;
      judgement.source = source;
      state_.book.make_diverging(*source);
      if (other) state_.book.make_diverging(*other);
    } else {
      unexplained.push_back(slot);
    }
  }
  if (told.kind == EventKind::parameters && hold_the_same(unexplained))
    name_otherwise(scene, at, unexplained, judgement);
  else
    for (const SlotPair& slot : unexplained)
      if (slot.match == Match::differs &&
          (known_to_be_written_unseen(slot) || is_outcome(told, slot)))
        wait(scene, at, slot);
  state_.totals.values += judgement.compared;
  ++state_.totals.coverage.aligned;
  return judgement;
}

/// The values of one run's parameters belong to other names in the other run.
void BoundaryJudge::name_otherwise(const Scene& scene, EventPair at,
                                   const std::vector<SlotPair>& parameters, Judgement& judgement) {
  const Source source =
      enter_finding(state_, FindingKind::parameter, scene, at, at, {}, [&](Record& record) {
        record.evidence.named_otherwise = true;
        add_tensors(record, parameters);
        const SlotPair& first = parameters.front();
        const auto partner =
            std::find_if(parameters.begin(), parameters.end(), [&](const SlotPair& slot) {
              return slot.candidate->digest == first.reference->digest;
            });
        record.finding.notes.push_back(
            fmt::format("what {} holds in the reference, {} holds in the candidate",
                        first.reference->name, partner->candidate->name));
      });
  for (const SlotPair& slot : parameters)
    state_.ledger.enter(differing::contents(slot.reference->digest, slot.candidate->digest),
                        source);
  judgement.differs = true;
  judgement.outcome = Judged::found;
  judgement.source = source;
}

void BoundaryJudge::wait(const Scene& scene, EventPair at, const SlotPair& slot) {
  const bool named = !slot.reference->name.empty();
  const bool changed = (slot.reference->flags ^ slot.candidate->flags) & slot_flag::changed;
  const Both<OpPlace> makers{producer(scene, Side::reference, *slot.reference),
                             producer(scene, Side::candidate, *slot.candidate)};
  // Ops that left the same in both runs have made both, and each run returns another one.
  const bool made = !known_to_be_written_unseen(slot) && !makers.reference.op.empty() &&
                    !makers.candidate.op.empty();
  const FindingKind kind = changed ? FindingKind::write
                           : named ? FindingKind::parameter
                           : made  ? FindingKind::arguments
                                   : FindingKind::data;
  const auto key =
      KeyHash().add(std::uint64_t{slot.reference->index}).add(slot.reference->name).value();
  Waiting waiting;
  waiting.source = enter_finding(
      state_, kind, scene, at, at, {.key = key, .once_per_step = named, .harmless = true},
      [&](Record& record) {
        record.listed = false;
        add_tensors(record, {slot});
        record.finding.notes.emplace_back("no recorded op reads it up to the end of the step");
        if (!made) return;
        const Both<std::string> given{"result of " + words(makers.reference),
                                      "result of " + words(makers.candidate)};
        if (kind != FindingKind::arguments) {
          record.finding.notes.push_back(
              fmt::format("it is the {} in the reference, the {} in the candidate", given.reference,
                          given.candidate));
          return;
        }
        record.evidence.returned = true;
        record.finding.arguments.push_back(
            {output_name(slot.reference->index), given.reference, given.candidate});
      });
  waiting.reference = *slot.reference;
  waiting.candidate = *slot.candidate;
  waiting.geometry = {*slot.reference->geometry, *slot.candidate->geometry};
  waiting.names = names_of(scene, at, slot);
  waiting.step = scene.step;
  waiting_.push_back(std::move(waiting));
}

bool BoundaryJudge::explained(Waiting& waiting) {
  waiting.reference.geometry = &waiting.geometry.reference;
  waiting.candidate.geometry = &waiting.geometry.candidate;
  return state_.ledger.memory.reference.find(waiting.reference, waiting.step) ||
         state_.ledger.memory.candidate.find(waiting.candidate, waiting.step);
}

void BoundaryJudge::op_passed() {
  if (waiting_.empty()) return;
  std::erase_if(waiting_, [&](Waiting& waiting) { return explained(waiting); });
}

void BoundaryJudge::end_step() {
  for (Waiting& waiting : waiting_) {
    if (explained(waiting)) continue;
    state_.book.make_diverging(waiting.source);
    state_.judge.differs(state_.runs, state_.ranks, waiting.reference, waiting.candidate,
                         [&] { return waiting.names; });
    state_.ledger.memory.reference.taint(waiting.reference, waiting.source, waiting.step);
    state_.ledger.memory.candidate.taint(waiting.candidate, waiting.source, waiting.step);
  }
  waiting_.clear();
}

}  // namespace ulpscope::comparison
