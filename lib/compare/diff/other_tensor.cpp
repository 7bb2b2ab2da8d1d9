#include "compare/diff/other_tensor.hpp"

#include <fmt/format.h>

#include <string_view>

#include "compare/diff/finding_writer.hpp"
#include "compare/diff/producer.hpp"

namespace ulpscope::comparison {
namespace {

/// No op has produced what is read.
constexpr std::uint32_t kOfProgram = slot_flag::uninitialised | slot_flag::unproduced;

[[nodiscard]] std::uint32_t reader_of(EventPair at, Side side) {
  return side == Side::reference ? at.reference : at.candidate;
}

/// Whether a tensor with this content is in the window before `reader`. With a name, one of
/// that name.
[[nodiscard]] bool holds(const Window& window, std::uint32_t reader, const Digest& digest,
                         std::string_view name) {
  for (std::uint32_t index = 0; index < reader; ++index)
    for (const Slot& slot : window.event(index).slots)
      if (slot.digest == digest && !(slot.flags & slot_flag::no_digest) &&
          (name.empty() || slot.name == name))
        return true;
  return false;
}

struct Read {
  std::uint32_t event = kNoIndex;
  const Slot* slot = nullptr;  ///< null if there is none
};

/// The first op of the model before `reader` that reads this content: an upcoming batch has none.
[[nodiscard]] Read model_read(const Window& window, std::uint32_t reader, const Digest& digest) {
  for (std::uint32_t index = 0; index < reader; ++index) {
    const Event& event = window.event(index);
    if (event.kind != EventKind::op ||
        (event.phase != Phase::forward && event.phase != Phase::eval))
      continue;
    for (const Slot& slot : event.slots)
      if (slot.role == Role::input && slot.digest == digest && !(slot.flags & slot_flag::no_digest))
        return {index, &slot};
  }
  return {};
}

[[nodiscard]] bool both_were_read(const Scene& scene, EventPair at, const SlotPair& input,
                                  const Both<DataReads>& data) {
  for (const Slot* read : {input.reference, input.candidate})
    for (const Side side : kSides)
      if (model_read(*on(scene.windows, side), reader_of(at, side), read->digest).slot == nullptr &&
          !on(data, side).contain(read->digest))
        return false;
  return true;
}

/// Both runs have both tensors, and one of them has read before what it passes now: an exchanged
/// batch has not been read yet. A few numbers may agree by accident.
[[nodiscard]] std::optional<Both<std::string>> read_again(const Scene& scene, EventPair at,
                                                          const SlotPair& input,
                                                          const Both<DataReads>& data) {
  constexpr std::uint64_t kFew = 4;
  if (element_count(*input.reference->geometry) < kFew) return std::nullopt;
  Both<std::string> given;
  bool again = false;
  for (const Side side : kSides) {
    const Slot& own = *input.of(side);
    for (const Slot* slot : {input.reference, input.candidate})
      if (!holds(*on(scene.windows, side), reader_of(at, side), slot->digest, {}) &&
          !on(data, side).contain_or_made(slot->digest))
        return std::nullopt;
    on(given, side) = read_before(scene, side, at, input);
    again = again || !on(given, side).empty();
    if (!on(given, side).empty()) continue;
    const OpPlace maker = producer(scene, side, own);
    if (maker.op.empty() || (own.flags & kOfProgram)) return std::nullopt;
    on(given, side) = "result of " + words(maker);
  }
  return again ? std::optional(given) : std::nullopt;
}

/// The runs read different parts of memory that was left with the same content.
[[nodiscard]] bool are_parts_of_one(const Scene& scene, const SlotPair& input) {
  if (input.reference->geometry->storage_offset == input.candidate->geometry->storage_offset)
    return false;
  const auto left = written_around(scene, Side::reference, *input.reference);
  return left && left == written_around(scene, Side::candidate, *input.candidate);
}

[[nodiscard]] bool computed_in_a_step(const Scene& scene, Side side, const Slot& slot) {
  const std::optional<Phase> phase = phase_of_last_write(scene, side, slot);
  return phase && *phase != Phase::setup && *phase != Phase::data;
}

/// One result viewed in two ways: the op in between, which only one run has, is the better finding.
[[nodiscard]] bool may_be_one(const OpPlace& a, const OpPlace& b, const SlotPair& slot) {
  const Geometry& left = *slot.reference->geometry;
  const Geometry& right = *slot.candidate->geometry;
  return a.op == b.op && a.module == b.module &&
         (left.sizes != right.sizes || left.strides != right.strides);
}

/// The same for a part of the result.
[[nodiscard]] std::string part_words(const OpPlace& of, const Geometry& part) {
  return fmt::format("result of {}, from element {}", words(of), part.storage_offset);
}

/// Both runs have made the memory of both, and the program has chosen: backward gives its ops what
/// forward has left.
[[nodiscard]] bool are_two_memories(const RankState& state, const SlotPair& input) {
  if (input.owner->flags & event_flag::in_backward) return false;
  return state.partners.storages.are_two(input.reference->storage, input.candidate->storage);
}

/// A sample, or what the program's own code has made of some.
[[nodiscard]] bool is_prepared(const Scene& scene, Side side, const Slot& slot) {
  if (!slot.name.empty()) return false;
  const HeldEvent writer = writer_of(scene, side, slot);
  return writer.event == nullptr ||
         (!writer.event->has_module &&
          (writer.event->phase == Phase::setup || writer.event->phase == Phase::data));
}

/// Of one kind: which of them the program takes is the order of its data.
[[nodiscard]] bool are_samples(const Scene& scene, const SlotPair& input) {
  const auto made_by = [&](Side side) {
    const HeldEvent writer = writer_of(scene, side, *input.of(side));
    return writer.event == nullptr ? std::string() : std::string(writer.event->op);
  };
  return made_by(Side::reference) == made_by(Side::candidate) &&
         (is_prepared(scene, Side::reference, *input.reference) ||
          is_prepared(scene, Side::candidate, *input.candidate));
}

/// "fc.weight of Net" or "result of aten::addmm, fc, event 12", as the run knows the tensor.
[[nodiscard]] std::string tensor_words(const RankState& state, const Scene& scene, Side side,
                                       const Slot& slot) {
  const ShownModels& models = on(state.program.models, side);
  if (const std::string_view name = models.name_of(slot.storage); !name.empty())
    return fmt::format("{} of {}", name, models.root_of(slot.storage));
  const OpPlace maker = producer(scene, side, slot);
  const std::string result = maker.op.empty() ? std::string() : "result of " + words(maker);
  if (slot.name.empty()) return result;
  return result.empty() ? std::string(slot.name) : fmt::format("{}, {}", slot.name, result);
}

}  // namespace

std::optional<Both<std::string>> other_root(const RankState& state, const Scene& scene,
                                            EventPair at, const SlotPair& input) {
  if (input.reference == nullptr || input.candidate == nullptr) return std::nullopt;
  const Event& a = scene.windows.reference->event(at.reference);
  const Event& b = scene.windows.candidate->event(at.candidate);
  const std::string_view name = input.reference->name;
  if (name.empty() || name != input.candidate->name || !a.has_module || !b.has_module ||
      a.root == b.root)
    return std::nullopt;
  for (const Side side : kSides)
    if (!on(state.program.models, side).contain(a.root, name) ||
        !on(state.program.models, side).contain(b.root, name))
      return std::nullopt;
  return Both<std::string>{fmt::format("{} of {}", name, a.root),
                           fmt::format("{} of {}", name, b.root)};
}

std::optional<Both<std::string>> other_tensor(const RankState& state, const Scene& scene,
                                              EventPair at, const SlotPair& input) {
  constexpr std::uint32_t kUnknown = slot_flag::changed | slot_flag::no_digest;
  if (input.match == Match::one_sided || either(input, kUnknown)) return std::nullopt;
  const Slot& left = *input.reference;
  const Slot& right = *input.candidate;
  if (are_two_memories(state, input) && !are_samples(scene, input)) {
    Both<std::string> given;
    for (const Side side : kSides)
      on(given, side) = tensor_words(state, scene, side, *input.of(side));
    if (!given.reference.empty() && !given.candidate.empty() && given.reference != given.candidate)
      return given;
  }
  const bool named = !left.name.empty() && !right.name.empty();
  if (left.name.empty() && right.name.empty() && either(input, kOfProgram))
    return read_again(scene, at, input, state.program.data_reads);
  if (either(input, slot_flag::uninitialised)) return std::nullopt;
  if (named && left.name == right.name) return other_root(state, scene, at, input);
  if (!named && (!left.name.empty() || !right.name.empty())) return std::nullopt;
  const bool computed = !either(input, slot_flag::unproduced) &&
                        computed_in_a_step(scene, Side::reference, left) &&
                        computed_in_a_step(scene, Side::candidate, right);
  const bool two =
      named && state.partners.other_parameters.are_two(
                   scene.windows.reference->event(at.reference).root, left.name, right.name);
  const bool have =
      two || (named || computed
                  ? holds(*scene.windows.candidate, at.candidate, left.digest, left.name) ||
                        holds(*scene.windows.reference, at.reference, right.digest, right.name)
                  : both_were_read(scene, at, input, state.program.data_reads));
  const bool parts = !named && are_parts_of_one(scene, input);
  if (!have && !parts) return std::nullopt;
  if (named) return Both<std::string>{std::string(left.name), std::string(right.name)};
  const OpPlace a = producer(scene, Side::reference, left);
  const OpPlace b = producer(scene, Side::candidate, right);
  if (a.op.empty() || b.op.empty() || may_be_one(a, b, input)) return std::nullopt;
  if (parts || words(a) == words(b)) {
    Both<std::string> given{part_words(a, *left.geometry), part_words(b, *right.geometry)};
    // What one op has made at one place is the same tensor with other content.
    return given.reference == given.candidate ? std::nullopt : std::optional(std::move(given));
  }
  return Both<std::string>{"result of " + words(a), "result of " + words(b)};
}

std::string read_before(const Scene& scene, Side side, EventPair at, const SlotPair& input) {
  const Slot& slot = *input.of(side);
  if (slot.flags & slot_flag::no_digest) return {};
  const Window& window = *on(scene.windows, side);
  const Read read = model_read(window, reader_of(at, side), slot.digest);
  if (read.slot == nullptr) return {};
  const std::string name = tensor_name(window.event(read.event), *read.slot);
  return fmt::format("{} of {}", name.empty() ? "an input" : name,
                     words(outermost_around(scene, side, read.event)));
}

}  // namespace ulpscope::comparison
