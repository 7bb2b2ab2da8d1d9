#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compare/diff/op_judge.hpp"
#include "compare/diff/other_tensor.hpp"
#include "compare/diff/producer.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/words.hpp"

namespace ulpscope::comparison {
namespace {

/// Inputs that differ, as a key: which arguments they are.
[[nodiscard]] std::uint64_t slots_key(const std::vector<const SlotPair*>& slots) {
  KeyHash hash;
  for (const SlotPair* slot : slots)
    hash.add(std::uint64_t{static_cast<std::uint8_t>(slot->role())} << 32 |
             std::uint64_t{slot->any().index} << 16 | slot->any().element);
  return hash.value();
}

}  // namespace

/// Digests follow the order in memory; if that differs, the bytes decide.
void OpJudge::compare_layouts() {
  for (SlotPair& slot : slots_) {
    if (slot.match != Match::layout && slot.match != Match::reordered) continue;
    const auto apart = difference_of(slot);
    if (!apart) continue;
    if (apart->differing == 0)
      slot.match = Match::equal;  // a symmetric matrix
    else if (slot.match == Match::layout)
      slot.match = Match::differs;
  }
}

void OpJudge::judge_inputs() {
  std::vector<const SlotPair*> fresh;
  std::set<std::uint16_t> known;
  for (const SlotPair& slot : slots_) {
    if (slot.role() != Role::input || !is_difference(slot.match)) continue;
    if (is_kept_otherwise(slot)) {
      const auto source = taint_of(slot);
      if (!source || !state_.book.diverges(*source)) continue;  // its kernel's results are equal
    }
    if (other_root(scene_, at_, slot, state_.known_parameters)) {
      inputs_differ_ = true;
      fresh.push_back(&slot);
    } else if (const auto read = differs_for_readers(slot)) {
      inputs_differ_ = true;
      looked_at_ = true;
      source_ = read;
    } else if (const auto source = known_difference(slot)) {
      inputs_differ_ = true;
      if (either(slot, slot_flag::parameter) && in_first_forward())
        state_.totals.evidence.other_start = true;
      known.insert(slot.any().index);
      propagated(*source);
    } else if (slot.match != Match::one_sided && !either(slot, slot_flag::wrapped_number)) {
      inputs_differ_ = true;
      if (const auto before = differed_before(slot)) {
        propagated(*before);
        taint(slot.reference, slot.candidate, *before);
      } else {
        fresh.push_back(&slot);
      }
    }
  }
  std::erase_if(fresh, [&](const SlotPair* slot) {
    return known.contains(slot->any().index) && is_list_of_other_length(slot->any().index);
  });
  enter_each_kind(fresh);
}

/// Why a tensor that a view is taken of has a different dtype or shape, if known. Its readers
/// decide whether it matters.
std::optional<Source> OpJudge::differs_for_readers(const SlotPair& slot) {
  const bool views = event(Side::reference).flags & event(Side::candidate).flags & event_flag::view;
  if (!views || slot.match != Match::metadata || !both(slot, slot_flag::metadata_only))
    return std::nullopt;
  return taint_of(slot);
}

/// What a kernel has saved for its backward; a kernel of a different library or device saves it in
/// a different dtype or shape. The program never sees it, so only results count.
bool OpJudge::is_kept_otherwise(const SlotPair& slot) const {
  if (slot.match != Match::metadata || slot.role() != Role::input ||
      !(event(Side::reference).flags & event_flag::in_backward))
    return false;
  return std::all_of(kSides.begin(), kSides.end(), [&](Side side) {
    const Slot& one = side == Side::reference ? *slot.reference : *slot.candidate;
    const HeldEvent op =
        outermost_op(*on(scene_.runs, side), on(scene_.ranks, side), {one.writer_lane, one.writer});
    if (op.event == nullptr || op.event->position == one.writer ||
        (op.event->flags & event_flag::in_backward))
      return false;
    return std::none_of(op.event->slots.begin(), op.event->slots.end(), [&](const Slot& given) {
      return given.role != Role::input && given.storage == one.storage;
    });
  });
}

/// No update has been made yet.
bool OpJudge::in_first_forward() const {
  return scene_.step <= 0 && event(Side::reference).phase == Phase::forward;
}

/// Why both runs had these very contents where they differed before. A few numbers may agree by
/// accident.
std::optional<Source> OpJudge::differed_before(const SlotPair& slot) const {
  constexpr std::uint64_t kFew = 4;
  const bool named = either(slot, slot_flag::parameter | slot_flag::buffer | slot_flag::gradient);
  if (slot.match != Match::differs || (!named && element_count(*slot.reference->geometry) < kFew))
    return std::nullopt;
  return state_.ledger.find(differing::contents(slot.reference->digest, slot.candidate->digest));
}

/// Extra tensors of one run in a list shift the tensors after them.
bool OpJudge::is_list_of_other_length(std::uint16_t index) const {
  return std::any_of(slots_.begin(), slots_.end(), [&](const SlotPair& slot) {
    return slot.role() == Role::input && slot.match == Match::one_sided &&
           slot.any().index == index && slot.any().element > 0;
  });
}

void OpJudge::enter_each_kind(const std::vector<const SlotPair*>& fresh) {
  std::map<FindingKind, std::vector<const SlotPair*>> kinds;
  std::vector<const SlotPair*> others;
  std::vector<ArgumentReport> given;
  for (const SlotPair* slot : fresh) {
    const bool as_left = slot->role() == Role::input &&
                         !was_changed(Side::reference, *slot->reference) &&
                         !was_changed(Side::candidate, *slot->candidate);
    if (const auto tensors = as_left
                                 ? other_tensor(scene_, at_, *slot, state_.data_reads,
                                                state_.known_parameters, state_.other_parameters)
                                 : std::optional<Both<std::string>>()) {
      others.push_back(slot);
      given.push_back(
          {tensor_name(*slot->owner, slot->any()), tensors->reference, tensors->candidate});
    } else {
      kinds[kind_of_fresh(*slot)].push_back(slot);
    }
  }
  if (!others.empty()) enter_others(others, given);
  for (const auto& [kind, slots] : kinds) {
    if (kind != FindingKind::write) {
      enter_fresh(kind, slots);
      continue;
    }
    // Each piece of memory was written by itself.
    std::vector<std::uint64_t> storages;
    for (const SlotPair* slot : slots) {
      if (std::find(storages.begin(), storages.end(), slot->reference->storage) != storages.end())
        continue;
      storages.push_back(slot->reference->storage);
      enter_fresh(kind, {slot});
    }
  }
}

/// Its results were compared, and none differs.
bool OpJudge::gives_the_same() const {
  bool compared = false;
  for (const SlotPair& slot : slots_) {
    if (slot.role() == Role::input) continue;
    if (is_difference(slot.match)) return false;
    compared = compared || slot.match == Match::equal;
  }
  return compared;
}

/// Both runs have these tensors, but do not give the op the same ones.
void OpJudge::enter_others(const std::vector<const SlotPair*>& others,
                           const std::vector<ArgumentReport>& given) {
  if (numbers_source_) return propagated(*numbers_source_);
  const auto digests = [&](Side side) {
    std::vector<Digest> all;
    for (const SlotPair& slot : slots_)
      if (slot.role() == Role::input && slot.reference && slot.candidate)
        all.push_back(side == Side::reference ? slot.reference->digest : slot.candidate->digest);
    std::sort(all.begin(), all.end());
    return all;
  };
  // A different model that is called is one finding for all of its layers.
  const bool other_model = event(Side::reference).has_module && event(Side::candidate).has_module &&
                           event(Side::reference).root != event(Side::candidate).root;
  if (other_model && other_model_ && other_model_->step == scene_.step) {
    for (const SlotPair* slot : others) taint(slot->reference, slot->candidate, *other_model_);
    return propagated(*other_model_);
  }
  const bool same_tensors = digests(Side::reference) == digests(Side::candidate);
  // Such as the two sides of a sum.
  const bool no_matter = same_tensors && arguments_.values.empty() && gives_the_same();
  const Source source = enter_finding(state_, FindingKind::arguments, scene_, at_, at_,
                                      {.key = other_model ? 0 : slots_key(others),
                                       .once_per_step = !other_model,
                                       .any_place = other_model,
                                       .harmless = no_matter},
                                      [&](Record& record) {
                                        record.finding.diverges = !no_matter;
                                        record.finding.arguments = given;
                                        record.evidence.same_tensors = same_tensors;
                                        add_tensors(record, slots_);
                                      });
  if (no_matter) {
    inputs_differ_ = false;
    judgement_.differs = false;
    return;
  }
  for (const SlotPair* slot : others) taint(slot->reference, slot->candidate, source);
  if (other_model) other_model_ = source;
  found(source);
}

/// Values that differ already cannot be distinguished, but their writers can.
void OpJudge::judge_exchanged() {
  constexpr std::uint32_t kUnknown = slot_flag::changed | slot_flag::uninitialised |
                                     slot_flag::unproduced | slot_flag::undefined |
                                     slot_flag::overwritten | slot_flag::metadata_only;
  if (event(Side::reference).kind != EventKind::op ||
      (event(Side::reference).flags & event_flag::in_backward) != 0)
    return;
  std::vector<const SlotPair*> slots;
  bool differ = false;
  for (const SlotPair& slot : slots_) {
    if (slot.role() != Role::input || slot.match == Match::equal ||
        slot.match == Match::one_sided || either(slot, kUnknown))
      continue;
    const bool differs = taint_of(slot).has_value();
    differ = differ || differs;
    if (differs || slot.match == Match::layout) slots.push_back(&slot);
  }
  if (slots.empty()) return;
  const ExchangedTensors exchanged = exchanged_.find(scene_, at_, slots);
  if (exchanged.tensors.empty()) return;
  std::vector<ArgumentReport> given;
  slots.clear();
  for (const ExchangedTensor& one : exchanged.tensors) {
    slots.push_back(one.slot);
    given.push_back(
        {tensor_name(*one.slot->owner, one.slot->any()), one.given.reference, one.given.candidate});
  }
  const Source source =
      enter_finding(state_, FindingKind::arguments, scene_, at_, at_,
                    {.key = slots_key(slots), .once_per_step = true}, [&](Record& record) {
                      record.finding.arguments = given;
                      record.evidence.same_tensors = exchanged.same_set;
                      add_tensors(record, slots_);
                      record.finding.notes.emplace_back(
                          differ ? "what it reads differs already, but comes from other ops too"
                                 : "what it reads is laid out too differently to be compared, "
                                   "but comes from other ops");
                    });
  found(source);
  source_ = source;
}

/// Whether content is not what the last recorded write left. Memory may be read through a different
/// view than it was written through, without the recorder comparing the two.
bool OpJudge::was_changed(Side side, const Slot& slot) const {
  if (slot.flags & slot_flag::changed) return true;
  if (slot.flags & (slot_flag::unproduced | slot_flag::uninitialised)) return false;
  const std::optional<Slot> written = last_write(scene_, side, slot);
  return written && !(written->flags & (slot_flag::no_digest | slot_flag::uninitialised)) &&
         written->digest != slot.digest;
}

/// Parameters of other names hold the same, so that nothing differs yet.
void OpJudge::note_other_parameters() {
  if (event(Side::reference).phase != Phase::forward) return;
  std::vector<ArgumentReport> given;
  std::vector<const SlotPair*> slots;
  for (const SlotPair& slot : slots_) {
    if (slot.role() != Role::input || slot.match != Match::equal ||
        !both(slot, slot_flag::parameter) ||
        !state_.other_parameters.are_two(event(Side::reference).root, slot.reference->name,
                                         slot.candidate->name))
      continue;
    state_.other_parameters.given(event(Side::reference).root, slot.reference->name,
                                  slot.candidate->name);
    slots.push_back(&slot);
    given.push_back({tensor_name(*slot.owner, *slot.reference), std::string(slot.reference->name),
                     std::string(slot.candidate->name)});
  }
  if (given.empty()) return;
  state_.other_parameters.found(
      enter_finding(state_, FindingKind::arguments, scene_, at_, at_,
                    {.key = slots_key(slots), .harmless = true}, [&](Record& record) {
                      record.finding.diverges = false;
                      record.listed = false;
                      record.finding.arguments = given;
                      add_tensors(record, slots_);
                      record.finding.notes.emplace_back(
                          "both hold the same values here: the runs diverge because gradients and "
                          "updates go to a different parameter");
                    }));
}

FindingKind OpJudge::kind_of_fresh(const SlotPair& slot) const {
  if (slot.match == Match::metadata || slot.match == Match::reordered) return FindingKind::metadata;
  const bool left = was_changed(Side::reference, *slot.reference);
  const bool right = was_changed(Side::candidate, *slot.candidate);
  if (left != right) return FindingKind::write;
  if (left) return FindingKind::data;
  const bool named = either(slot, slot_flag::parameter | slot_flag::buffer) ||
                     !slot.reference->name.empty() || !slot.candidate->name.empty();
  if (named && !either(slot, slot_flag::uninitialised | slot_flag::gradient))
    return FindingKind::parameter;
  return FindingKind::data;
}

/// Where differences may come only from rounding: content that they do not explain, while all
/// numbers that the program has read from tensors and all sizes were equal.
bool OpJudge::is_made_apart(const SlotPair& slot) const {
  if (!state_.options.budget || numbers_source_ || state_.ledger.any(Differing::number) ||
      state_.ledger.any(Differing::size))
    return false;
  const auto apart = difference_of(slot);
  return apart && apart->scaled_max.value_or(1) > kRounding;
}

/// The runs have diverged before, and code that no hook sees has computed this value within a step:
/// whether from what differs already is unknown.
bool OpJudge::may_follow(const SlotPair& slot) const {
  if (!last_source_ || !state_.book.diverges(*last_source_) || is_made_apart(slot)) return false;
  const auto computed = [](std::optional<Phase> phase) {
    return phase && *phase != Phase::setup && *phase != Phase::data;
  };
  if (either(slot, slot_flag::uninitialised)) {
    const Side side =
        slot.reference->flags & slot_flag::uninitialised ? Side::reference : Side::candidate;
    const auto factory = factory_of(scene_, side, event(side),
                                    side == Side::reference ? *slot.reference : *slot.candidate);
    return factory && computed(factory->phase);
  }
  if (!was_changed(Side::reference, *slot.reference)) return false;
  return either(slot, slot_flag::parameter | slot_flag::buffer | slot_flag::gradient) ||
         computed(phase_of_last_write(scene_, Side::reference, *slot.reference));
}

void OpJudge::enter_fresh(FindingKind kind, const std::vector<const SlotPair*>& fresh) {
  if (kind == FindingKind::data && numbers_source_) return propagated(*numbers_source_);
  if (kind == FindingKind::data &&
      std::all_of(fresh.begin(), fresh.end(),
                  [&](const SlotPair* slot) { return may_follow(*slot); })) {
    for (const SlotPair* slot : fresh) taint(slot->reference, slot->candidate, *last_source_);
    return propagated(*last_source_);
  }
  const auto is_fresh = [&](const SlotPair& slot) {
    return std::any_of(fresh.begin(), fresh.end(),
                       [&](const SlotPair* one) { return &one->any() == &slot.any(); });
  };
  const Source source = enter_finding(state_, kind, scene_, at_, at_,
                                      {.key = slots_key(fresh), .once_per_step = !between_models()},
                                      [&](Record& record) {
                                        std::vector<SlotPair> told = slots_;
                                        if (kind == FindingKind::data)
                                          std::stable_partition(told.begin(), told.end(), is_fresh);
                                        add_tensors(record, told);
                                        for (const SlotPair* slot : fresh)
                                          describe_fresh(record, kind, *slot);
                                      });
  for (const SlotPair* slot : fresh) {
    taint(slot->reference, slot->candidate, source);
    if (kind != FindingKind::data) continue;
    ++state_.totals.data_values;
    for (const Side side : kSides) {
      const Slot& one = side == Side::reference ? *slot->reference : *slot->candidate;
      Digest& sum = on(state_.totals.data, side);
      const std::uint64_t key = KeyHash().add(one.digest).value();
      sum.high += key;
      sum.low += KeyHash().add(key).value();
    }
  }
  found(source);
}

void OpJudge::describe_fresh(Record& record, FindingKind kind, const SlotPair& slot) const {
  const std::string name = tensor_name(*slot.owner, slot.any());
  const std::string called = name.empty() ? "this value" : name;
  auto& notes = record.finding.notes;
  Evidence& evidence = record.evidence;
  evidence.blamed.push_back(name.empty() ? fmt::format("input {}", slot.any().index) : name);
  const auto writers = [&](Side side) {
    return writer_words(scene_, side, side == Side::reference ? *slot.reference : *slot.candidate);
  };
  if (kind == FindingKind::metadata) {
    const Geometry& a = *slot.reference->geometry;
    const Geometry& b = *slot.candidate->geometry;
    if (a.dtype != b.dtype)
      notes.push_back(fmt::format("{} is {} in the reference and {} in the candidate", called,
                                  ulpscope::name(a.dtype), ulpscope::name(b.dtype)));
    if (slot.match == Match::reordered)
      notes.push_back(fmt::format(
          "{} is the same in memory, and its elements are read in a different order", called));
    return;
  }
  if (kind == FindingKind::write) {
    const Side side =
        was_changed(Side::reference, *slot.reference) ? Side::reference : Side::candidate;
    const Slot& changed = side == Side::reference ? *slot.reference : *slot.candidate;
    evidence.written_otherwise = changed.writer != kNone && !last_write(scene_, side, changed);
    const std::string writer = writers(side);
    notes.push_back(fmt::format("{} changed in the {} since its last recorded write{}", called,
                                comparison::name(side), writer.empty() ? "" : " (" + writer + ")"));
    notes.push_back(
        fmt::format("{} is the first op that reads it since", event(Side::reference).op));
    return;
  }
  for (const Side side : kSides)
    if (const std::string read = read_before(scene_, side, at_, slot); !read.empty())
      notes.push_back(
          fmt::format("{} is the {}'s {} once more", called, comparison::name(side), read));
  if (was_changed(Side::reference, *slot.reference)) {
    evidence.changed_in_both = true;
    notes.push_back(fmt::format("{} was written outside of recorded ops in both runs", called));
    return;
  }
  if (either(slot, slot_flag::uninitialised)) {
    evidence.uninitialised = true;
    const Side side =
        slot.reference->flags & slot_flag::uninitialised ? Side::reference : Side::candidate;
    if (const auto factory =
            factory_of(scene_, side, event(side),
                       side == Side::reference ? *slot.reference : *slot.candidate)) {
      evidence.factory = factory->words;
      evidence.for_data =
          factory->for_data() && !either(slot, slot_flag::parameter | slot_flag::buffer);
    }
    notes.push_back(
        fmt::format("{} reads memory that no recorded op wrote{}", called,
                    evidence.factory.empty() ? "" : ", handed out by " + evidence.factory));
    return;
  }
  if (either(slot, slot_flag::unproduced)) {
    notes.push_back(fmt::format("no recorded op produced {}", called));
    return;
  }
  const std::string writer = writers(Side::reference);
  if (!writer.empty()) notes.push_back(fmt::format("{} was {}", called, writer));
}

}  // namespace ulpscope::comparison
