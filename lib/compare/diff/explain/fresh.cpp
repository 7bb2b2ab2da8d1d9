#include "compare/diff/explain/fresh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compare/diff/finding_writer.hpp"
#include "compare/diff/optimizer_options.hpp"
#include "compare/diff/other_tensor.hpp"
#include "compare/diff/producer.hpp"
#include "compare/measure/rounding.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/words.hpp"
#include "core/counts.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool reads_the_same_reordered(const OpPair& ops) {
  Both<std::vector<Digest>> read;
  for (const SlotPair& slot : ops.slots)
    if (slot.role() == Role::input && slot.reference && slot.candidate)
      for (const Side side : kSides) on(read, side).push_back(slot.of(side)->digest);
  for (const Side side : kSides) std::sort(on(read, side).begin(), on(read, side).end());
  return read.reference == read.candidate;
}

/// The order of its operands does not matter, as of the two sides of a sum.
[[nodiscard]] bool changes_nothing(const OpPair& ops) {
  return ops.arguments.values.empty() && gives_the_same(ops);
}

/// Both runs have these tensors, but do not give the op the same ones.
void enter_others(OpPair& ops, const std::vector<const SlotPair*>& others,
                  const std::vector<ArgumentReport>& given) {
  if (ops.lane.numbers) return ops.propagated(*ops.lane.numbers);
  // A different model that is called is one finding for all of its layers.
  const bool other_model = ops.event(Side::reference).has_module &&
                           ops.event(Side::candidate).has_module &&
                           ops.event(Side::reference).root != ops.event(Side::candidate).root;
  if (other_model && ops.lane.other_model && ops.lane.other_model->step == ops.scene.step) {
    for (const SlotPair* slot : others)
      ops.differ(slot->reference, slot->candidate, *ops.lane.other_model);
    return ops.propagated(*ops.lane.other_model);
  }
  const bool same_tensors = reads_the_same_reordered(ops);
  const bool no_matter = same_tensors && changes_nothing(ops);
  const auto options = other_options(ops.scene, ops.at);
  const std::uint64_t key = !options.empty()
                                ? ops.state.program.option_keys.of(ops.scene, ops.at, options)
                            : other_model ? 0
                                          : inputs_key(others);
  const Source source =
      enter_finding(ops.state, FindingKind::arguments, ops.scene, ops.at, ops.at,
                    {.key = key,
                     .once_per_step = !other_model && options.empty() && !ops.between_models(),
                     .any_place = other_model || !options.empty(),
                     .any_op = !options.empty(),
                     .harmless = no_matter},
                    [&](Record& record) {
                      record.finding.diverges = !no_matter;
                      record.finding.arguments = given;
                      record.evidence.same_tensors = same_tensors;
                      add_tensors(record, ops.slots);
                    });
  if (no_matter) {
    ops.inputs_differ = false;
    ops.judgement.differs = false;
    // Of what it keeps aside for its backward.
    if (!ops.inside_differing.empty() || !ops.inside.same()) ops.why = source;
    return;
  }
  ops.state.book.make_diverging(source);
  for (const SlotPair* slot : others) ops.differ(slot->reference, slot->candidate, source);
  if (other_model) ops.lane.other_model = source;
  ops.found(source);
}

/// Whether content is not what the last recorded write left. Memory may be read through a different
/// view than it was written through, without the recorder comparing the two.
[[nodiscard]] bool was_changed(const OpPair& ops, Side side, const Slot& slot) {
  if (slot.flags & slot_flag::changed) return true;
  if (slot.flags & (slot_flag::unproduced | slot_flag::uninitialised)) return false;
  const std::optional<Slot> written = last_write(ops.scene, side, slot);
  return written && !(written->flags & (slot_flag::no_digest | slot_flag::uninitialised)) &&
         written->digest != slot.digest;
}

[[nodiscard]] FindingKind kind_of_fresh(const OpPair& ops, const SlotPair& slot) {
  if (slot.match == Match::metadata || slot.match == Match::reordered) return FindingKind::metadata;
  const bool left = was_changed(ops, Side::reference, *slot.reference);
  const bool right = was_changed(ops, Side::candidate, *slot.candidate);
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
[[nodiscard]] bool is_made_apart(const OpPair& ops, const SlotPair& slot) {
  if (!ops.state.options.budget || ops.lane.numbers || ops.state.ledger.any(Differing::number) ||
      ops.state.ledger.any(Differing::size))
    return false;
  const auto apart = ops.difference_of(slot);
  return apart && apart->scaled_max.value_or(1) >
                      rounding_distance(slot.reference->geometry->dtype, roundings::kWholeProgram);
}

/// The runs have diverged before, and code that no hook sees has computed this value within a step:
/// whether from what differs already is unknown.
[[nodiscard]] bool may_follow(const OpPair& ops, const SlotPair& slot) {
  if (!ops.lane.last_source || !ops.state.book.diverges(*ops.lane.last_source) ||
      is_made_apart(ops, slot))
    return false;
  const auto computed = [](std::optional<Phase> phase) {
    return phase && *phase != Phase::setup && *phase != Phase::data;
  };
  if (either(slot, slot_flag::uninitialised)) {
    const Side side =
        slot.reference->flags & slot_flag::uninitialised ? Side::reference : Side::candidate;
    const auto factory = factory_of(ops.scene, side, ops.event(side), *slot.of(side));
    return factory && computed(factory->phase);
  }
  if (!was_changed(ops, Side::reference, *slot.reference)) return false;
  return either(slot, slot_flag::parameter | slot_flag::buffer | slot_flag::gradient) ||
         computed(phase_of_last_write(ops.scene, Side::reference, *slot.reference));
}

/// All that it returns are objects, such as packed weights, which other ops alone can read.
[[nodiscard]] bool returns_objects(const Event& op) {
  if (std::ranges::any_of(op.slots, [](const Slot& slot) { return slot.role != Role::input; }))
    return false;
  bool any = false;
  for (const Argument& argument : arguments(op)) {
    if (!argument.result) continue;
    if (argument.text != "<Object>") return false;
    any = true;
  }
  return any;
}

/// An object is made of a placeholder, whose memory nothing has filled in either run: modules of
/// torch.ao.nn.quantized begin with one. An op that reads the object before it is replaced gives
/// different results.
[[nodiscard]] bool reads_placeholder(const OpPair& ops, FindingKind kind,
                                     const std::vector<const SlotPair*>& fresh) {
  return kind == FindingKind::data &&
         std::ranges::all_of(fresh,
                             [](const SlotPair* slot) {
                               return (slot->reference->flags & slot->candidate->flags &
                                       slot_flag::uninitialised) != 0;
                             }) &&
         returns_objects(ops.event(Side::reference)) && returns_objects(ops.event(Side::candidate));
}

/// Of a list of tensors the first is described for all.
void describe_all(const OpPair& ops, Record& record, FindingKind kind,
                  const std::vector<const SlotPair*>& fresh) {
  std::vector<std::string>& notes = record.finding.notes;
  for (std::size_t k = 0; k < fresh.size(); ++k) {
    const std::size_t before = notes.size();
    describe_fresh(ops, record, kind, *fresh[k]);
    std::size_t more = 0;
    while (k + 1 < fresh.size() && fresh[k + 1]->any().element > 0 &&
           fresh[k + 1]->any().index == fresh[k]->any().index) {
      const std::size_t described = notes.size();
      describe_fresh(ops, record, kind, *fresh[++k]);
      notes.resize(described);
      ++more;
    }
    if (more > 0 && notes.size() > before)
      notes.back() += fmt::format("; the same holds for {}", core::counted(more, "more tensor"));
  }
}

}  // namespace

std::uint64_t inputs_key(const std::vector<const SlotPair*>& slots) {
  KeyHash hash;
  for (const SlotPair* slot : slots)
    hash.add(std::uint64_t{static_cast<std::uint8_t>(slot->role())} << 32 |
             std::uint64_t{slot->any().index} << 16 | slot->any().element);
  return hash.value();
}

void enter_each_kind(OpPair& ops, const std::vector<const SlotPair*>& fresh) {
  std::map<FindingKind, std::vector<const SlotPair*>> kinds;
  std::vector<const SlotPair*> others;
  std::vector<ArgumentReport> given;
  for (const SlotPair* slot : fresh) {
    const bool as_left = slot->role() == Role::input &&
                         !was_changed(ops, Side::reference, *slot->reference) &&
                         !was_changed(ops, Side::candidate, *slot->candidate);
    if (const auto tensors = as_left ? other_tensor(ops.state, ops.scene, ops.at, *slot)
                                     : std::optional<Both<std::string>>()) {
      others.push_back(slot);
      given.push_back(
          {tensor_name(*slot->owner, slot->any()), tensors->reference, tensors->candidate});
    } else {
      kinds[kind_of_fresh(ops, *slot)].push_back(slot);
    }
  }
  if (!others.empty()) enter_others(ops, others, given);
  for (const auto& [kind, slots] : kinds) {
    if (kind != FindingKind::write) {
      enter_fresh(ops, kind, slots);
      continue;
    }
    // Each piece of memory was written by itself.
    std::vector<std::uint64_t> storages;
    for (const SlotPair* slot : slots) {
      if (std::find(storages.begin(), storages.end(), slot->reference->storage) != storages.end())
        continue;
      storages.push_back(slot->reference->storage);
      enter_fresh(ops, kind, {slot});
    }
  }
}

bool gives_the_same(const OpPair& ops) {
  bool compared = false;
  for (const SlotPair& slot : ops.slots) {
    if (slot.role() == Role::input) continue;
    if (is_difference(slot.match)) return false;
    compared = compared || slot.match == Match::equal;
  }
  return compared;
}

void enter_fresh(OpPair& ops, FindingKind kind, const std::vector<const SlotPair*>& fresh) {
  if (kind == FindingKind::data && ops.lane.numbers) return ops.propagated(*ops.lane.numbers);
  if (kind == FindingKind::data &&
      std::all_of(fresh.begin(), fresh.end(),
                  [&](const SlotPair* slot) { return may_follow(ops, *slot); })) {
    for (const SlotPair* slot : fresh)
      ops.differ(slot->reference, slot->candidate, *ops.lane.last_source);
    return ops.propagated(*ops.lane.last_source);
  }
  const bool same_tensors = fresh.size() > 1 && reads_the_same_reordered(ops);
  if (kind == FindingKind::data && same_tensors && changes_nothing(ops)) {
    ops.inputs_differ = false;
    ops.judgement.differs = false;
    return;
  }
  const auto is_fresh = [&](const SlotPair& slot) {
    return std::any_of(fresh.begin(), fresh.end(),
                       [&](const SlotPair* one) { return &one->any() == &slot.any(); });
  };
  const bool harmless = reads_placeholder(ops, kind, fresh);
  const Source source = enter_finding(
      ops.state, kind, ops.scene, ops.at, ops.at,
      {.key = inputs_key(fresh), .once_per_step = !ops.between_models(), .harmless = harmless},
      [&](Record& record) {
        record.finding.diverges = !harmless;
        std::vector<SlotPair> told = ops.slots;
        if (kind == FindingKind::data) std::stable_partition(told.begin(), told.end(), is_fresh);
        add_tensors(record, told);
        record.evidence.same_tensors = same_tensors;
        describe_all(ops, record, kind, fresh);
      });
  if (harmless) {
    ops.inputs_differ = false;
    ops.judgement.differs = false;
    return;
  }
  for (const SlotPair* slot : fresh) {
    ops.differ(slot->reference, slot->candidate, source);
    if (kind != FindingKind::data) continue;
    ++ops.state.totals.data_values;
    for (const Side side : kSides) {
      const Slot& one = *slot->of(side);
      Digest& sum = on(ops.state.totals.data, side);
      const std::uint64_t key = KeyHash().add(one.digest).value();
      sum.high += key;
      sum.low += KeyHash().add(key).value();
    }
  }
  ops.found(source);
}

void describe_fresh(const OpPair& ops, Record& record, FindingKind kind, const SlotPair& slot) {
  const std::string name = tensor_name(*slot.owner, slot.any());
  const std::string called = name.empty() ? "this value" : name;
  auto& notes = record.finding.notes;
  Evidence& evidence = record.evidence;
  evidence.blamed.push_back(name.empty() ? fmt::format("input {}", slot.any().index) : name);
  const auto writers = [&](Side side) { return writer_words(ops.scene, side, *slot.of(side)); };
  if (kind == FindingKind::metadata) {
    const Geometry& a = *slot.reference->geometry;
    const Geometry& b = *slot.candidate->geometry;
    if (a.dtype != b.dtype)
      notes.push_back(fmt::format("{} is {} in the reference and {} in the candidate", called,
                                  ulpscope::name(a.dtype), ulpscope::name(b.dtype)));
    if (slot.match == Match::reordered) {
      evidence.reordered = name.empty() ? "its input" : name;
      notes.push_back(fmt::format(
          "{} is the same in memory, and its elements are read in a different order", called));
    }
    return;
  }
  if (kind == FindingKind::write) {
    const Side side =
        was_changed(ops, Side::reference, *slot.reference) ? Side::reference : Side::candidate;
    const Slot& changed = *slot.of(side);
    evidence.written_otherwise = changed.writer != kNone && !last_write(ops.scene, side, changed);
    const std::string writer = writers(side);
    notes.push_back(fmt::format("{} changed in the {} since its last recorded write{}", called,
                                comparison::name(side), writer.empty() ? "" : " (" + writer + ")"));
    notes.push_back(
        fmt::format("{} is the first op that reads it since", ops.event(Side::reference).op));
    return;
  }
  for (const Side side : kSides)
    if (const std::string read = read_before(ops.scene, side, ops.at, slot); !read.empty())
      notes.push_back(
          fmt::format("{} is the {}'s {} once more", called, comparison::name(side), read));
  if (was_changed(ops, Side::reference, *slot.reference)) {
    evidence.changed_in_both = true;
    notes.push_back(fmt::format("{} was written outside of recorded ops in both runs", called));
    return;
  }
  if (either(slot, slot_flag::uninitialised)) {
    evidence.uninitialised = true;
    const Side side =
        slot.reference->flags & slot_flag::uninitialised ? Side::reference : Side::candidate;
    if (const auto factory = factory_of(ops.scene, side, ops.event(side), *slot.of(side))) {
      evidence.factory = factory->words;
      evidence.for_data = factory->for_data() && !filled_by_ops(slot) &&
                          !either(slot, slot_flag::parameter | slot_flag::buffer);
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
  if (writer.empty()) return;
  notes.push_back(fmt::format("{} was {}", called, writer));
  const bool whole = std::all_of(kSides.begin(), kSides.end(), [&](Side side) {
    return written_around(ops.scene, side, *slot.of(side)).has_value();
  });
  evidence.left_by_ops = evidence.left_by_ops || whole;
  evidence.left_in_part = evidence.left_in_part || !whole;
}

}  // namespace ulpscope::comparison
