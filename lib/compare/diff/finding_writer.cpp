#include "compare/diff/finding_writer.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "compare/diff/optimizer_options.hpp"
#include "compare/model/device.hpp"
#include "compare/model/extent.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/words.hpp"

namespace ulpscope::comparison {
namespace {

/// Blocks searched, going back from a reader, for the op that returned its memory.
constexpr std::size_t kFactoryBlocks = 256;

[[nodiscard]] const Event& named_event(const Scene& scene, EventPair at) {
  return at.reference != kNoIndex ? scene.windows.reference->event(at.reference)
                                  : scene.windows.candidate->event(at.candidate);
}

[[nodiscard]] std::uint64_t signature(FindingKind kind, const Scene& scene, const Event& event,
                                      const Distinction& distinction) {
  KeyHash hash;
  hash.add(scene.ranks.reference);
  hash.add(std::uint64_t{lane_order(*scene.lanes.reference, event)});
  if (!distinction.any_op)
    hash.add(static_cast<std::uint64_t>(kind))
        .add(event.op)
        .add(event.overload)
        .add(static_cast<std::uint64_t>(event.phase));
  if (!distinction.any_place)
    hash.add(std::uint64_t{event.has_module}).add(event.module).add(event.root);
  return hash.add(distinction.key).value();
}

/// Positions of different lanes are unrelated: what runs in autograd's takes its place in the
/// forward's. `position` is one of the reference's lane.
[[nodiscard]] std::optional<std::uint64_t> after_forward(const Scene& scene,
                                                         std::uint64_t position) {
  if (scene.lanes.reference->role != LaneRole::autograd) return std::nullopt;
  const Window& window = *scene.windows.reference;
  if (window.size() == 0) return kNone;
  const std::uint32_t index = window.find(position);
  return window.held(index == kNoIndex ? 0 : index).after_forward;
}

/// An origin that only one run has was compared with its own replay: there is nothing else to
/// compare.
void add_common_evidence(Record& record, const Scene& scene, EventPair at) {
  for (const Side side : kSides) {
    const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
    if (index == kNoIndex && record.finding.kind != FindingKind::origin) continue;
    const Event& event =
        index == kNoIndex ? named_event(scene, at) : on(scene.windows, side)->event(index);
    on(record.evidence.threads, side) = event.threads;
    on(record.evidence.on_gpu, side) = runs_on_gpu(event);
    on(record.evidence.event_flags, side) = event.flags;
    on(record.evidence.rng, side) = event.rng;
    record.evidence.seeded = event.flags & event_flag::seeded;
    record.evidence.explicit_generator = event.flags & event_flag::explicit_generator;
  }
}

/// What the program has set otherwise, where the optimizer's own ops differ.
void add_options(const Scene& scene, EventPair at, Finding& finding) {
  if (finding.kind != FindingKind::arguments && finding.kind != FindingKind::sequence) return;
  for (ArgumentReport& option : other_options(scene, at))
    finding.arguments.push_back(std::move(option));
}

}  // namespace

Source enter_finding(RankState& state, FindingKind kind, const Scene& scene, EventPair at,
                     EventPair outer, const Distinction& distinction,
                     const std::function<void(Record&)>& fill) {
  const Event& event = named_event(scene, at);
  Source where;
  where.step = scene.step;
  where.candidate_step = scene.candidate_step;
  where.reference_event = scene.windows.reference->event(at.reference).position;
  where.candidate_event = scene.windows.candidate->event(at.candidate).position;
  where.order_event = scene.windows.reference->event(outer.reference).position;
  return state.book.enter(signature(kind, scene, event, distinction), where,
                          distinction.once_per_step, distinction.harmless, [&] {
                            Record record;
                            record.ranks = scene.ranks;
                            record.finding = describe(kind, scene, at);
                            record.candidate_step = scene.candidate_step;
                            record.order_event = where.order_event;
                            record.after_forward = after_forward(scene, where.order_event);
                            record.lane_order = lane_order(*scene.lanes.reference, event);
                            add_common_evidence(record, scene, at);
                            record.evidence.layers_only = state.mode.only_layers;
                            fill(record);
                            add_options(scene, at, record.finding);
                            return record;
                          });
}

bool is_entered(const RankState& state, FindingKind kind, const Scene& scene, EventPair at,
                const Distinction& distinction) {
  return state.book.knows(signature(kind, scene, named_event(scene, at), distinction));
}

Source enter_alone(RankState& state, FindingKind kind, const Scene& scene, EventPair at,
                   std::optional<std::uint64_t> order_event, const Distinction& distinction,
                   const std::function<void(Record&)>& fill) {
  const Event& event = named_event(scene, at);
  const bool in_reference = at.reference != kNoIndex;
  Source where;
  where.step = scene.step;
  where.candidate_step = scene.candidate_step;
  if (in_reference) where.reference_event = event.position;
  if (at.candidate != kNoIndex)
    where.candidate_event = scene.windows.candidate->event(at.candidate).position;
  where.order_event = order_event.value_or(0);
  where.follows = !in_reference && order_event.has_value();
  return state.book.enter(
      signature(kind, scene, event, distinction), where, distinction.once_per_step,
      distinction.harmless, [&] {
        Record record;
        record.ranks = scene.ranks;
        record.finding = describe(kind, scene, at);
        record.candidate_step = scene.candidate_step;
        record.order_event = where.order_event;
        record.after_forward = after_forward(scene, where.order_event);
        record.after_order_event = where.follows;
        record.lane_order =
            lane_order(*(in_reference ? scene.lanes.reference : scene.lanes.candidate), event);
        add_common_evidence(record, scene, at);
        fill(record);
        add_options(scene, at, record.finding);
        return record;
      });
}

std::uint32_t writer_in_window(const Scene& scene, Side side, const Slot& slot) {
  const bool same_lane = slot.writer_lane == on(scene.lanes, side)->id;
  return same_lane ? on(scene.windows, side)->find(slot.writer) : kNoIndex;
}

HeldEvent writer_of(const Scene& scene, Side side, const Slot& slot) {
  const std::uint32_t near = writer_in_window(scene, side, slot);
  if (near != kNoIndex) return on(scene.windows, side)->held(near);
  return find_event(*on(scene.runs, side), on(scene.ranks, side), {slot.writer_lane, slot.writer});
}

std::string writer_words(const Scene& scene, Side side, const Slot& slot) {
  const HeldEvent writer = writer_of(scene, side, slot);
  if (writer.event == nullptr) return {};
  return "last written by " + event_words(*writer.event, writer.block->step);
}

std::optional<Slot> last_write(const Scene& scene, Side side, const Slot& slot) {
  const Extent read = extent(slot);
  if (slot.storage == kNone || !read.without_gaps) return std::nullopt;
  const HeldEvent writer = writer_of(scene, side, slot);
  if (writer.event == nullptr) return std::nullopt;
  for (const Slot& written : writer.event->slots) {
    if (written.role == Role::input || written.storage != slot.storage ||
        written.geometry == nullptr || written.geometry->dtype != slot.geometry->dtype ||
        extent(written) != read)
      continue;
    Slot found = written;
    found.geometry = nullptr;
    found.name = {};
    return found;
  }
  return std::nullopt;
}

std::optional<Digest> written_around(const Scene& scene, Side side, const Slot& slot) {
  const HeldEvent writer = writer_of(scene, side, slot);
  if (writer.event == nullptr || slot.storage == kNone) return std::nullopt;
  const Extent read = extent(slot);
  for (const Slot& written : writer.event->slots) {
    const Extent left = extent(written);
    if (written.role != Role::input && written.storage == slot.storage &&
        !(written.flags & slot_flag::no_digest) && left.begin <= read.begin && read.end <= left.end)
      return written.digest;
  }
  return std::nullopt;
}

std::optional<Factory> factory_of(const Scene& scene, Side side, const Event& reader,
                                  const Slot& slot) {
  if (slot.storage == kNone) return std::nullopt;
  const Run& run = *on(scene.runs, side);
  const std::uint32_t rank = on(scene.ranks, side);
  const std::uint32_t lane = on(scene.lanes, side)->id;
  const std::optional<std::size_t> last = find_block(run, rank, {lane, reader.position});
  if (!last) return std::nullopt;
  for (std::size_t back = 0; back <= std::min(*last, kFactoryBlocks); ++back) {
    const Block block = run.block(rank, lane, *last - back);
    for (const Event& event : block.events) {
      if (!(event.flags & event_flag::factory) || event.position >= reader.position) continue;
      const bool hands_out =
          std::any_of(event.slots.begin(), event.slots.end(), [&](const Slot& given) {
            return given.role == Role::output && given.storage == slot.storage;
          });
      if (!hands_out) continue;
      const bool of_tensor = reader.op == "aten::to" && reader.position == event.position + 1;
      return Factory{
          event_words(event, block.step) + (of_tensor ? ", as torch::tensor() does" : ""),
          event.phase, event.has_module, of_tensor};
    }
  }
  return std::nullopt;
}

bool filled_by_ops(const SlotPair& slot) {
  return slot.reference->writes > 0 && slot.candidate->writes > 0;
}

std::optional<Phase> phase_of_last_write(const Scene& scene, Side side, const Slot& slot) {
  const HeldEvent writer = writer_of(scene, side, slot);
  if (writer.event == nullptr) return std::nullopt;
  return writer.event->phase;
}

}  // namespace ulpscope::comparison
