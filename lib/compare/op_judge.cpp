#include "compare/op_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "compare/effect.hpp"
#include "compare/hash.hpp"
#include "compare/tensor_bytes.hpp"
#include "compare/words.hpp"

namespace ulpscope::comparison {
namespace {

/// Makes no values itself.
[[nodiscard]] bool tells_of_values(const Event& event) {
  return event.kind == EventKind::module_output || event.kind == EventKind::module_gradient ||
         event.kind == EventKind::parameters;
}

[[nodiscard]] std::uint32_t flags_of(const Slot* slot) noexcept { return slot ? slot->flags : 0; }

[[nodiscard]] bool either(const SlotPair& slot, std::uint32_t flag) noexcept {
  return (flags_of(slot.reference) | flags_of(slot.candidate)) & flag;
}

[[nodiscard]] bool both(const SlotPair& slot, std::uint32_t flag) noexcept {
  return flags_of(slot.reference) & flags_of(slot.candidate) & flag;
}

/// A number whose text is short was written by a person; one with all its digits was computed.
[[nodiscard]] bool looks_computed(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr std::size_t kComputedLength = 12;
  return error == std::errc{} && end == text.data() + text.size() && text.size() >= kComputedLength;
}

/// Inputs that differ, as a key: which arguments they are.
[[nodiscard]] std::uint64_t slots_key(const std::vector<const SlotPair*>& slots) {
  KeyHash hash;
  for (const SlotPair* slot : slots)
    hash.add(std::uint64_t{static_cast<std::uint8_t>(slot->role())} << 32 |
             std::uint64_t{slot->any().index} << 16 | slot->any().element);
  return hash.value();
}

/// A view of other elements than in the other run: what is read through it differs for that reason.
[[nodiscard]] bool is_other_view(const SlotPair& slot) {
  if (!slot.reference || !slot.candidate || !both(slot, slot_flag::view) ||
      !slot.reference->geometry || !slot.candidate->geometry)
    return false;
  const Geometry& a = *slot.reference->geometry;
  const Geometry& b = *slot.candidate->geometry;
  return a.storage_offset != b.storage_offset || a.sizes != b.sizes || a.strides != b.strides;
}

[[nodiscard]] bool draws_inside(const Window& window, std::uint32_t index) {
  for (std::uint32_t inner = index + 1; inner < window.end(index); ++inner)
    if (drew(window.event(inner))) return true;
  return false;
}

}  // namespace

const Event& OpJudge::event(Side side) const {
  return on(scene_.windows, side)->event(side == Side::reference ? at_.reference : at_.candidate);
}

void OpJudge::found(const Source& source) {
  judgement_.outcome = Outcome::found;
  last_source_ = source;
  if (!source_) source_ = source;
}

void OpJudge::propagated(const Source& source) {
  state_.book.make_diverging(source, [&](Record& record) { keep_effect(record, scene_, at_); });
  last_source_ = source;
  if (judgement_.outcome == Outcome::equal) judgement_.outcome = Outcome::propagated;
  if (!source_) source_ = source;
}

void OpJudge::begin(const Scene& scene, EventPair at) {
  scene_ = scene;
  at_ = at;
  judgement_ = {};
  source_.reset();
  inputs_differ_ = false;
  rng_differs_ = false;
  uneven_draws_.clear();
  compare_slots(event(Side::reference), event(Side::candidate), slots_);
  arguments_ = compare_arguments(event(Side::reference), event(Side::candidate));
  count_values(state_, scene_, at_, slots_, judgement_);
  judgement_.differs = judgement_.differs || !arguments_.results.empty();
}

Judgement OpJudge::judge(const Scene& scene, EventPair at) {
  begin(scene, at);
  compare_inside();
  judge_rng();
  judge_inputs();
  if (!rng_differs_ && !inputs_differ_) judge_arguments();
  if (!source_) judge_reshaped_inputs();
  if (tells_of_values(event(Side::reference))) judge_told_values();
  if (!source_) judge_outputs();
  if (!source_) judge_inside();
  for (const ArgumentReport& result : arguments_.results)
    state_.numbers.differ(result.reference.value_or(""), result.candidate.value_or(""),
                          source_.value_or(Source{}));
  judgement_.numbers_differ = !arguments_.results.empty();
  judgement_.follows = judgement_.follows || inputs_differ_ || rng_differs_;
  judgement_.source = source_;
  shift_streams();
  note_placement();
  spread();
  Coverage& coverage = state_.totals.coverage;
  coverage.aligned += inside_.pairs().size();
  coverage.only_reference += inside_.alone().reference.size();
  coverage.only_candidate += inside_.alone().candidate.size();
  count_event(state_, scene_, judgement_);
  return judgement_;
}

Judgement OpJudge::judge_scope(const Scene& scene, EventPair at) {
  begin(scene, at);
  std::vector<const SlotPair*> fresh;
  for (const SlotPair& slot : slots_) {
    if (!is_difference(slot.match)) continue;
    if (const auto source = known_difference(slot))
      propagated(*source);
    else if (slot.role() != Role::input && slot.match != Match::one_sided)
      // What a scope read may have been written since by the ops inside; what it leaves was not.
      fresh.push_back(&slot);
  }
  enter_each_kind(fresh);
  judgement_.follows = true;
  judgement_.source = source_;
  count_event(state_, scene_, judgement_);
  return judgement_;
}

/// Values that crossed a module's boundary were made by ops before, where ops are recorded.
void OpJudge::judge_told_values() {
  for (const SlotPair& slot : slots_) {
    if (slot.role() == Role::input || !is_difference(slot.match)) continue;
    if (const auto source = known_difference(slot)) propagated(*source);
  }
}

void OpJudge::compare_inside() {
  inside_differing_.clear();
  if (event(Side::reference).kind != EventKind::op) {
    inside_ = {};  // what runs inside a scope stands for itself
    return;
  }
  inside_.compare(*scene_.windows.reference, *scene_.windows.candidate, at_);
  for (const EventPair& pair : inside_.pairs()) {
    compare_slots(scene_.windows.reference->event(pair.reference),
                  scene_.windows.candidate->event(pair.candidate), inner_slots_);
    bool differs = false;
    bool writes = false;
    for (const SlotPair& slot : inner_slots_) {
      differs = differs || (slot.role() != Role::input && is_difference(slot.match));
      writes = writes || slot.role() == Role::mutated;
    }
    if (differs) inside_differing_.push_back(pair);
    if (writes) add_inside_writes(inner_slots_);
  }
}

/// Inner ops may write what the outer op was given without its schema saying so (the running
/// statistics of a batch norm). Such writes count as the outer op's own.
void OpJudge::add_inside_writes(const std::vector<SlotPair>& inner) {
  for (const SlotPair& slot : inner) {
    if (slot.role() != Role::mutated || !was_compared(slot.match)) continue;
    const auto same_memory = [&](const SlotPair& outer) {
      return outer.reference && outer.reference->storage == slot.reference->storage;
    };
    const bool given = std::any_of(slots_.begin(), slots_.end(), [&](const SlotPair& outer) {
      return outer.role() == Role::input && same_memory(outer);
    });
    if (!given) continue;
    // The last write inside is what the op leaves.
    const auto known = std::find_if(slots_.begin(), slots_.end(), [&](const SlotPair& outer) {
      return outer.role() != Role::input && same_memory(outer);
    });
    if (known == slots_.end())
      slots_.push_back(slot);
    else if (known->owner != &event(Side::reference))
      *known = slot;
    if (slot.match != Match::differs) continue;
    judgement_.differs = true;
    judge_tolerance(state_, scene_, at_, slot);
  }
}

void OpJudge::judge_rng() {
  const Window& reference = *scene_.windows.reference;
  const Window& candidate = *scene_.windows.candidate;
  EventPair shifted;
  const auto look = [&](EventPair pair) {
    const Event& a = reference.event(pair.reference);
    const Event& b = candidate.event(pair.candidate);
    if (!(a.flags & b.flags & event_flag::seeded)) return;
    if (a.rng.before == b.rng.before) {
      state_.rng.in_step(a, scene_.step);
      if (a.rng.after != b.rng.after) uneven_draws_.push_back(&a);
      return;
    }
    if (!drew(a) && !drew(b)) return;
    const bool deepest =
        !draws_inside(reference, pair.reference) && !draws_inside(candidate, pair.candidate);
    if (shifted.reference == kNoIndex && deepest) shifted = pair;
  };
  look(at_);
  for (const EventPair& pair : inside_.pairs()) look(pair);
  if (shifted.reference == kNoIndex && !inside_.same()) {
    // The draws inside cannot be told apart: the op as a whole stands for them.
    const Event& a = event(Side::reference);
    const Event& b = event(Side::candidate);
    if ((a.flags & b.flags & event_flag::seeded) && a.rng.before != b.rng.before &&
        (drew(a) || drew(b)))
      shifted = at_;
  }
  if (shifted.reference == kNoIndex) return;

  rng_differs_ = true;
  const Event& a = reference.event(shifted.reference);
  RngTracker::Stream& stream = state_.rng.stream(a);
  if (stream.shifted) return propagated(stream.source);
  stream.source =
      enter_finding(state_, FindingKind::rng, scene_, shifted, at_, {}, [&](Record& record) {
        record.evidence.seeded_lanes_share = shares_generator(a);
        record.evidence.draws = stream.draws;
        record.evidence.more_draws = stream.more_draws;
        record.evidence.last_common_draw = stream.last_common_draw;
        compare_slots(a, candidate.event(shifted.candidate), inner_slots_);
        add_tensors(record, inner_slots_);
        const Event& b = candidate.event(shifted.candidate);
        record.finding.notes.push_back(
            a.rng.seed == b.rng.seed
                ? fmt::format("the generator's seed is {} in both runs, its state is not the same",
                              a.rng.seed)
                : fmt::format("the generator's seed is {} and {}", a.rng.seed, b.rng.seed));
        if (!stream.last_common_draw.empty())
          record.finding.notes.push_back("the last draw from equal states was " +
                                         stream.last_common_draw);
      });
  stream.shifted = true;
  if (draws_integers(a)) state_.drawn_order = stream.source;
  found(stream.source);
}

/// Such as the order of samples.
bool OpJudge::draws_integers(const Event& seeded) {
  return std::any_of(seeded.slots.begin(), seeded.slots.end(), [](const Slot& slot) {
    return slot.role != Role::input && slot.geometry && slot.geometry->dtype == Dtype::int64;
  });
}

/// Several threads of the role draw from the default generator.
bool OpJudge::shares_generator(const Event& seeded) const {
  const LaneRole role = scene_.lanes.reference->role;
  if (seeded.flags & event_flag::explicit_generator) return false;
  if (role != LaneRole::worker && role != LaneRole::thread) return false;
  const auto lanes = scene_.runs.reference->lanes(scene_.ranks.reference);
  return std::count_if(lanes.begin(), lanes.end(),
                       [&](const Lane& lane) { return lane.role == role; }) > 1;
}

/// Why a value differs, where that is known of its memory in either run. Both runs' reasons
/// diverge.
std::optional<Source> OpJudge::known_difference(const SlotPair& slot) {
  std::optional<Source> source;
  if (slot.reference) source = state_.taint.reference.find(*slot.reference, scene_.step);
  if (!slot.candidate) return source;
  const auto other = state_.taint.candidate.find(*slot.candidate, scene_.step);
  if (other && source)
    state_.book.make_diverging(*other, [&](Record& record) { keep_effect(record, scene_, at_); });
  return source ? source : other;
}

/// Code that prepares data or the program itself: it does the same to many things in a row.
bool OpJudge::in_data_code() const {
  const Event& here = event(Side::reference);
  return !here.has_module && (here.phase == Phase::data || here.phase == Phase::setup);
}

/// An op that differs may also have drawn another amount: then that is why the streams part here.
void OpJudge::shift_streams() {
  for (const Event* seeded : uneven_draws_) {
    RngTracker::Stream& stream = state_.rng.stream(*seeded);
    stream.last_common_draw =
        event_words(*seeded, scene_.step) + ", which took another amount in each run";
    if (!source_ || source_->finding == kNoFinding) continue;
    stream.shifted = true;
    stream.source = *source_;
  }
}

void OpJudge::judge_inputs() {
  std::vector<const SlotPair*> fresh;
  for (const SlotPair& slot : slots_) {
    if (slot.role() != Role::input || !is_difference(slot.match)) continue;
    if (const auto source = known_difference(slot)) {
      inputs_differ_ = true;
      propagated(*source);
    } else if (slot.match != Match::one_sided && !either(slot, slot_flag::wrapped_number)) {
      inputs_differ_ = true;
      fresh.push_back(&slot);
    }
  }
  enter_each_kind(fresh);
}

void OpJudge::enter_each_kind(const std::vector<const SlotPair*>& fresh) {
  std::map<FindingKind, std::vector<const SlotPair*>> kinds;
  for (const SlotPair* slot : fresh) kinds[kind_of_fresh(*slot)].push_back(slot);
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

/// Whether content is not what the last recorded write left. Memory may be read through another
/// view than it was written, without the recorder comparing the two.
bool OpJudge::was_changed(Side side, const Slot& slot) const {
  if (slot.flags & slot_flag::changed) return true;
  if (slot.flags & (slot_flag::unproduced | slot_flag::uninitialised)) return false;
  const std::optional<Slot> written = last_write(scene_, side, slot);
  return written && !(written->flags & (slot_flag::no_digest | slot_flag::uninitialised)) &&
         written->digest != slot.digest;
}

FindingKind OpJudge::kind_of_fresh(const SlotPair& slot) const {
  if (slot.match == Match::metadata) return FindingKind::metadata;
  const bool left = was_changed(Side::reference, *slot.reference);
  const bool right = was_changed(Side::candidate, *slot.candidate);
  if (left != right) return FindingKind::write;
  if (left) return FindingKind::data;
  const bool named = either(slot, slot_flag::parameter | slot_flag::buffer) ||
                     !slot.reference->name.empty() || !slot.candidate->name.empty();
  if (either(slot, slot_flag::unproduced) && named) return FindingKind::parameter;
  return FindingKind::data;
}

/// The runs have parted before, and code that no hook sees has computed this value within a step:
/// whether from what differs already cannot be told.
bool OpJudge::may_follow(const SlotPair& slot) const {
  if (!last_source_ || !state_.book.diverges(*last_source_)) return false;
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
    for (const SlotPair* slot : fresh) {
      state_.taint.reference.taint(*slot->reference, *last_source_, scene_.step);
      state_.taint.candidate.taint(*slot->candidate, *last_source_, scene_.step);
    }
    return propagated(*last_source_);
  }
  const Source source = enter_finding(state_, kind, scene_, at_, at_,
                                      {.key = slots_key(fresh), .once_per_step = !in_data_code()},
                                      [&](Record& record) {
                                        add_tensors(record, slots_);
                                        for (const SlotPair* slot : fresh)
                                          describe_fresh(record, kind, *slot);
                                      });
  for (const SlotPair* slot : fresh) {
    state_.taint.reference.taint(*slot->reference, source, scene_.step);
    state_.taint.candidate.taint(*slot->candidate, source, scene_.step);
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
  const auto writers = [&](Side side) {
    return writer_words(scene_, side, side == Side::reference ? *slot.reference : *slot.candidate);
  };
  if (kind == FindingKind::metadata) {
    const Geometry& a = *slot.reference->geometry;
    const Geometry& b = *slot.candidate->geometry;
    if (a.dtype != b.dtype)
      notes.push_back(fmt::format("{} is {} in the reference and {} in the candidate", called,
                                  ulpscope::name(a.dtype), ulpscope::name(b.dtype)));
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
  if (was_changed(Side::reference, *slot.reference)) {
    evidence.changed_in_both = true;
    notes.push_back(fmt::format("{} was written outside of recorded ops in both runs", called));
    return;
  }
  if (either(slot, slot_flag::uninitialised)) {
    evidence.uninitialised = true;
    const Side side =
        slot.reference->flags & slot_flag::uninitialised ? Side::reference : Side::candidate;
    if (const auto factory = factory_of(
            scene_, side, event(side), side == Side::reference ? *slot.reference : *slot.candidate))
      evidence.factory = factory->words;
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

bool OpJudge::derived(const ArgumentReport& argument) const {
  if (!state_.numbers.any() || !argument.reference || !argument.candidate) return false;
  return state_.numbers.contains(*argument.reference, *argument.candidate) ||
         (looks_computed(*argument.reference) && looks_computed(*argument.candidate));
}

/// What it gives are the elements that it was given, in the same order: only a reader can tell one
/// shape from another.
bool OpJudge::only_reshapes() const {
  bool reshaped = false;
  for (const SlotPair& slot : slots_) {
    if (slot.role() == Role::input) continue;
    if (is_difference(slot.match)) return false;
    reshaped = reshaped || slot.match == Match::reshaped;
  }
  return reshaped;
}

/// The same elements in another shape explain another result, and are handed on by an op that
/// gives them back. Values laid out so differently that they were not compared may explain it too,
/// where something before them is in question.
void OpJudge::judge_reshaped_inputs() {
  std::vector<const SlotPair*> reshaped;
  std::optional<Source> known;
  for (const SlotPair& slot : slots_) {
    if (slot.role() != Role::input ||
        (slot.match != Match::reshaped && slot.match != Match::layout))
      continue;
    if (!known && slot.reference) known = state_.taint.reference.find(*slot.reference, scene_.step);
    if (!known && slot.candidate) known = state_.taint.candidate.find(*slot.candidate, scene_.step);
    if (slot.match == Match::reshaped) reshaped.push_back(&slot);
  }
  const bool differs = std::any_of(slots_.begin(), slots_.end(), [](const SlotPair& slot) {
    return slot.role() != Role::input && is_difference(slot.match);
  });
  if (!differs) {
    source_ = known;
  } else if (known) {
    judgement_.follows = true;
    propagated(*known);
  } else if (!reshaped.empty()) {
    enter_fresh(FindingKind::metadata, reshaped);
  }
}

std::optional<Both<std::string>> OpJudge::numbers_of(const SlotPair& slot) const {
  const auto bytes =
      tensor_bytes(scene_.runs, scene_.ranks, {slot.reference->digest, slot.candidate->digest},
                   {*slot.reference->geometry, *slot.candidate->geometry});
  if (!bytes) return std::nullopt;
  const Difference apart = difference(bytes->dtype, bytes->shape, bytes->strides,
                                      bytes->bytes.reference, bytes->bytes.candidate);
  if (!apart.worst) return std::nullopt;
  return Both<std::string>{apart.worst->reference, apart.worst->candidate};
}

void OpJudge::judge_arguments() {
  std::vector<ArgumentReport> reports = arguments_.values;
  bool wrapped = false;
  bool unknown = false;
  for (const SlotPair& slot : slots_) {
    if (slot.role() != Role::input) continue;
    const std::string name = tensor_name(*slot.owner, slot.any());
    if (slot.match == Match::one_sided) {
      const auto words = [](const Slot* one) {
        return std::string(one && !(one->flags & slot_flag::undefined) ? "Tensor" : "None");
      };
      reports.push_back({name, words(slot.reference), words(slot.candidate)});
    } else if (slot.match == Match::differs && either(slot, slot_flag::wrapped_number)) {
      wrapped = true;
      const auto numbers = numbers_of(slot);
      unknown = unknown || !numbers;
      const std::string digests_only = "(a number; only its digest was recorded)";
      reports.push_back({name, numbers ? numbers->reference : digests_only,
                         numbers ? numbers->candidate : digests_only});
    }
  }
  if (reports.empty()) return;
  const bool from_host =
      numbers_source_ || (unknown && state_.numbers.any()) ||
      std::all_of(reports.begin(), reports.end(),
                  [&](const ArgumentReport& argument) { return derived(argument); });
  if (from_host) return propagated(numbers_source_.value_or(state_.numbers.source()));

  // One setting of an optimizer is an argument of an op for every parameter.
  const bool in_optimizer = event(Side::reference).flags & event_flag::in_optimizer;
  KeyHash key;
  for (const ArgumentReport& report : reports) {
    key.add(report.name);
    if (!in_data_code()) key.add(report.reference.value_or("")).add(report.candidate.value_or(""));
  }
  const budget::Judged judged = judge_budget(at_, slots_);
  const bool pending = !wrapped && only_reshapes();
  const Source source = enter_finding(state_, FindingKind::arguments, scene_, at_, at_,
                                      {.key = key.value(),
                                       .once_per_step = !in_optimizer && !in_data_code(),
                                       .any_place = in_optimizer},
                                      [&](Record& record) {
                                        record.finding.diverges = !pending;
                                        record.finding.arguments = reports;
                                        record.evidence.wrapped_number = wrapped;
                                        add_tensors(record, slots_);
                                        judged.enter(record);
                                      });
  if (!pending) return found(source);
  source_ = source;
  judgement_.pending = source;
}

void OpJudge::judge_outputs() {
  const auto changed_shape = std::find_if(slots_.begin(), slots_.end(), [](const SlotPair& slot) {
    return slot.role() != Role::input &&
           (slot.match == Match::metadata || slot.match == Match::one_sided);
  });
  if (changed_shape != slots_.end()) {
    found(enter_finding(state_, FindingKind::metadata, scene_, at_, at_, {}, [&](Record& record) {
      add_tensors(record, slots_);
      if (changed_shape->match == Match::metadata)
        describe_fresh(record, FindingKind::metadata, *changed_shape);
    }));
    return;
  }
  const bool differs = std::any_of(slots_.begin(), slots_.end(), [](const SlotPair& slot) {
    return slot.role() != Role::input && slot.match == Match::differs;
  });
  const bool threw =
      (event(Side::reference).flags ^ event(Side::candidate).flags) & event_flag::threw;
  if (!differs && !threw && arguments_.results.empty()) return;

  const Origin origin = find_origin(*scene_.windows.reference, *scene_.windows.candidate, at_);
  const bool here = origin.at.reference == at_.reference;
  if (!here)
    compare_slots(scene_.windows.reference->event(origin.at.reference),
                  scene_.windows.candidate->event(origin.at.candidate), inner_slots_);
  const std::vector<SlotPair>& slots = here ? slots_ : inner_slots_;
  const budget::Judged judged = judge_budget(origin.at, slots);
  found(enter_finding(state_, FindingKind::origin, scene_, origin.at, at_, {}, [&](Record& record) {
    record.evidence.inside_differs = origin.inside_differs;
    record.finding.arguments = arguments_.results;
    for (const SlotPair& slot : slots_) {
      if (slot.role() != Role::input || slot.match != Match::layout) continue;
      record.evidence.not_compared = tensor_name(*slot.owner, slot.any());
      record.finding.notes.push_back(
          fmt::format("{} is laid out so differently that its values were not compared",
                      record.evidence.not_compared));
    }
    add_tensors(record, slots);
    judged.enter(record);
    if (threw) {
      const Side side =
          event(Side::reference).flags & event_flag::threw ? Side::reference : Side::candidate;
      record.finding.notes.push_back(
          fmt::format("the op ended with an exception in the {}", comparison::name(side)));
    }
  }));
  add_budget(*source_, judged);
}

budget::Judged OpJudge::judge_budget(EventPair at, const std::vector<SlotPair>& slots) const {
  if (!state_.options.budget) return {};
  const bool inputs_compared = std::none_of(slots_.begin(), slots_.end(), [](const SlotPair& slot) {
    return slot.role() == Role::input && slot.match == Match::layout;
  });
  return budget::judge(scene_, at, slots, inputs_compared, state_.judge);
}

void OpJudge::add_budget(const Source& source, const budget::Judged& judged) {
  auto& records = state_.book.records();
  if (source.finding < records.size())
    budget::add(records[source.finding].evidence.budget, judged.summary);
}

/// What differs only inside is kept back until its effect is read: the op's own results are equal.
void OpJudge::judge_inside() {
  if (inside_differing_.empty() && inside_.same()) return;
  const Window& reference = *scene_.windows.reference;
  const Window& candidate = *scene_.windows.candidate;
  EventPair first;
  if (!inside_differing_.empty()) {
    first = inside_differing_.front();
    if (!same_inputs(reference.event(first.reference), candidate.event(first.candidate)))
      first = at_;
  }
  Origin origin{at_, true};
  if (first.reference != kNoIndex && first.reference != at_.reference)
    origin = find_origin(reference, candidate, first);
  compare_slots(reference.event(origin.at.reference), candidate.event(origin.at.candidate),
                inner_slots_);
  const budget::Judged judged = judge_budget(origin.at, inner_slots_);
  source_ = enter_finding(
      state_, FindingKind::origin, scene_, origin.at, at_,
      {.key = KeyHash().add("inside").value(), .harmless = true}, [&](Record& record) {
        record.listed = false;
        record.finding.diverges = false;
        record.evidence.inside_differs = origin.inside_differs;
        add_tensors(record, inner_slots_);
        judged.enter(record);
        record.finding.notes.push_back(
            fmt::format("the results of {} itself are equal; what it kept aside is read later",
                        event(Side::reference).op));
      });
  add_budget(*source_, judged);
}

void OpJudge::spread_slot(const Slot* reference, const Slot* candidate, Match match) {
  if (is_difference(match)) {
    Source source = source_.value_or(Source{});
    source.written_alone = false;
    if (reference) state_.taint.reference.taint(*reference, source, scene_.step);
    if (candidate) state_.taint.candidate.taint(*candidate, source, scene_.step);
  } else if (match == Match::reshaped) {
    if (reference && source_) state_.taint.reference.taint(*reference, *source_, scene_.step);
    if (candidate && source_) state_.taint.candidate.taint(*candidate, *source_, scene_.step);
  } else if (match == Match::equal) {
    if (!state_.taint.reference.empty()) state_.taint.reference.clear(*reference);
    if (!state_.taint.candidate.empty()) state_.taint.candidate.clear(*candidate);
  }
}

void OpJudge::spread() {
  const Window& reference = *scene_.windows.reference;
  const Window& candidate = *scene_.windows.candidate;
  const bool clean = state_.taint.reference.empty() && state_.taint.candidate.empty();
  if (!clean)
    for (const SlotPair& slot : slots_)
      if (slot.role() == Role::input && slot.match == Match::equal)
        spread_slot(slot.reference, slot.candidate, slot.match);
  for (const EventPair& pair : clean ? inside_differing_ : inside_.pairs()) {
    compare_slots(reference.event(pair.reference), candidate.event(pair.candidate), inner_slots_);
    for (const SlotPair& slot : inner_slots_)
      if (slot.role() != Role::input) spread_slot(slot.reference, slot.candidate, slot.match);
  }
  const Source source = source_.value_or(Source{});
  for (const std::uint32_t index : inside_.alone().reference)
    write_alone(scene_, Side::reference, index, source);
  for (const std::uint32_t index : inside_.alone().candidate)
    write_alone(scene_, Side::candidate, index, source);
  for (const SlotPair& slot : slots_) {
    if (slot.role() == Role::input) continue;
    if (source_ && is_other_view(slot)) {
      state_.taint.reference.taint(*slot.reference, source, scene_.step);
      state_.taint.candidate.taint(*slot.candidate, source, scene_.step);
    }
    spread_slot(slot.reference, slot.candidate, slot.match);
  }
}

void OpJudge::write_alone(const Scene& scene, Side side, std::uint32_t index,
                          const Source& source) {
  constexpr std::uint32_t kWritesNothing = slot_flag::undefined | slot_flag::view |
                                           slot_flag::uninitialised | slot_flag::scratch |
                                           slot_flag::handle;
  Source alone = source;
  alone.written_alone = true;
  for (const Slot& slot : on(scene.windows, side)->event(index).slots)
    if (slot.role != Role::input && !(slot.flags & kWritesNothing))
      on(state_.taint, side).taint(slot, alone, scene.step);
}

void OpJudge::note_placement() {
  const Event& a = event(Side::reference);
  if (a.flags & event_flag::view) return;
  bool device = false;
  bool layout = !arguments_.placement.empty();
  for (const SlotPair& slot : slots_) {
    if (!slot.reference || !slot.candidate || !slot.reference->geometry ||
        !slot.candidate->geometry || either(slot, slot_flag::undefined))
      continue;
    const Geometry& left = *slot.reference->geometry;
    const Geometry& right = *slot.candidate->geometry;
    device = device || left.device_type != right.device_type;
    layout = layout || (left.sizes == right.sizes && left.strides != right.strides &&
                        left.layout == right.layout && !same_memory_order(left, right));
  }
  device = device && !state_.device_noted;
  layout = layout && std::find(state_.layout_noted.begin(), state_.layout_noted.end(), a.op) ==
                         state_.layout_noted.end();
  if (!device && !layout) return;
  if (device) state_.device_noted = true;
  if (layout) state_.layout_noted.emplace_back(a.op);
  enter_finding(state_, FindingKind::metadata, scene_, at_, at_,
                {.key = KeyHash().add("placement").value(), .harmless = true}, [&](Record& record) {
                  record.finding.diverges = false;
                  record.finding.arguments = arguments_.placement;
                  add_tensors(record, slots_);
                  record.finding.notes.emplace_back(
                      device ? "the runs use different devices"
                             : "the tensors are laid out differently in memory");
                });
}

}  // namespace ulpscope::comparison
