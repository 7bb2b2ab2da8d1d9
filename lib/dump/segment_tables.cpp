#include "dump/segment_tables.hpp"

#include <algorithm>

#include "dump/schema.hpp"

namespace ulpscope::dump {
namespace {

constexpr std::size_t kCandidates = 4;

bool same_bytes(const auto& a, const auto& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

/// Differs in nothing but its arguments, which repeat less often than the rest (a learning rate).
bool same_but_arguments(EventTemplate a, const EventTemplate& b) {
  a.arguments = b.arguments;
  return same_bytes(a, b);
}

Digest digest_of_rows(const NormalBlock& block) {
  DigestStream stream;
  stream.update(std::as_bytes(std::span(block.events)));
  stream.update(std::as_bytes(std::span(block.slots)));
  return stream.finish();
}

template <class T>
std::uint64_t size_of(const std::vector<T>& rows) {
  return rows.size() * sizeof(T);
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

std::uint32_t& at_id(std::vector<std::uint32_t>& ids, std::uint32_t id) {
  if (ids.size() <= id) ids.resize(std::size_t{id} + 1);
  return ids[id];
}

}  // namespace

std::uint32_t StringTable::add(std::span<const std::byte> item) {
  bytes.insert(bytes.end(), item.begin(), item.end());
  offsets.push_back(bytes.size());
  return size();
}

std::span<const std::byte> StringTable::at(std::uint32_t id) const noexcept {
  if (id == 0) return {};
  return std::span(bytes).subspan(offsets[id - 1], offsets[id] - offsets[id - 1]);
}

std::uint64_t Tables::bytes() const noexcept {
  return size_of(strings.bytes) + size_of(strings.offsets) + size_of(arguments.bytes) +
         size_of(arguments.offsets) + size_of(ops) + size_of(geometries) + size_of(dimensions) +
         size_of(templates) + size_of(template_events) + size_of(template_slots) + size_of(blocks) +
         size_of(digests) + size_of(variables) + size_of(event_overrides) +
         size_of(slot_overrides) + size_of(argument_overrides) + size_of(environment) +
         size_of(notices) + size_of(statistics) + size_of(layers) + size_of(contents);
}

Digest root_digest(const Tables& tables) {
  DigestStream stream;
  for_each_table(tables, [&](const TableSchema& table, const auto& rows) {
    stream.update(bytes_of(std::string_view(table.path)));
    stream.update(bytes_of(static_cast<std::uint64_t>(rows.size())));
    stream.update(std::as_bytes(std::span(rows)));
  });
  return stream.finish();
}

void NormalBlock::clear() noexcept {
  events.clear();
  slots.clear();
  digests.clear();
  variables.clear();
  values = 0;
}

void SegmentBuilder::add_block(std::uint32_t lane, std::int64_t step, const RingNames& ring,
                               std::span<const PlacedEvent> events) {
  if (tables_.blocks.empty()) first_step_ = last_step_ = step;
  first_step_ = std::min(first_step_, step);
  last_step_ = std::max(last_step_, step);
  normalise(lane, ring, events);

  BlockRow row{};
  row.lane = lane;
  row.step = step;
  row.first_position = first_position_;
  row.last_position = events.back().event.row().position;
  row.events = static_cast<std::uint32_t>(block_.events.size());
  row.slots = static_cast<std::uint32_t>(block_.slots.size());
  row.values = block_.values;
  row.first_digest = tables_.digests.size();
  row.digests = static_cast<std::uint32_t>(block_.digests.size());
  row.first_variable = tables_.variables.size();
  row.variables = static_cast<std::uint32_t>(block_.variables.bytes().size());
  row.first_event_override = tables_.event_overrides.size();
  row.first_slot_override = tables_.slot_overrides.size();
  row.first_argument_override = tables_.argument_overrides.size();
  append(tables_.digests, block_.digests);
  const auto variables = block_.variables.bytes();
  tables_.variables.insert(tables_.variables.end(), variables.begin(), variables.end());
  choose_template(row);
  tables_.blocks.push_back(row);
}

void SegmentBuilder::normalise(std::uint32_t lane, const RingNames& ring,
                               std::span<const PlacedEvent> events) {
  block_.clear();
  values_.clear();
  logical_values_.clear();
  rng_states_.clear();
  storage_ids_.clear();
  first_writes_.clear();
  storages_ = 0;
  last_storage_ = 0;
  first_position_ = last_reference_ = events.front().event.row().position;
  std::uint64_t previous = first_position_;
  for (const PlacedEvent& placed : events) {
    block_.events.push_back(normalise(lane, ring, placed, previous));
    previous = placed.event.row().position;
    for (const auto& slot : placed.event.slots()) {
      block_.slots.push_back(normalise(lane, ring, placed.event.row(), slot));
    }
  }
}

EventTemplate SegmentBuilder::normalise(std::uint32_t lane, const RingNames& ring,
                                        const PlacedEvent& placed,
                                        std::uint64_t previous_position) {
  const ring::EventRow& row = placed.event.row();
  EventTemplate event{};
  event.object = row.object;
  event.op = op(ring.op(row.op));
  event.module = string(ring.string(row.module));
  event.root = string(ring.string(row.root));
  event.module_type = string(ring.string(row.module_type));
  event.flags = row.flags;
  event.arguments = arguments(placed.event.arguments());
  event.position_step = static_cast<std::uint32_t>(row.position - previous_position);
  event.parent = distance_or_variable(row.position, row.parent, true);
  event.forward = distance_or_variable(row.position, row.forward, row.forward_lane == lane);
  event.forward_lane = row.forward_lane;
  if ((row.flags & event_flag::seeded) != 0) {
    event.rng_seed = row.rng_seed;
    event.rng_before = rng_reference({row.rng_before[0], row.rng_before[1]});
    event.rng_after = rng_reference({row.rng_after[0], row.rng_after[1]});
  }
  event.stack = string(ring.stack(row.stack));
  event.slots = row.slots;
  event.depth = row.depth;
  event.threads = row.threads;
  event.kind = row.kind;
  event.phase = static_cast<std::uint8_t>(placed.phase);
  return event;
}

SlotTemplate SegmentBuilder::normalise(std::uint32_t lane, const RingNames& ring,
                                       const ring::EventRow& event, const ring::SlotRow& row) {
  SlotTemplate slot{};
  if ((row.flags & slot_flag::no_digest) == 0) {
    slot.digest = digest_reference(row.value, false, {row.digest[0], row.digest[1]});
    block_.values += (row.flags & slot_flag::undefined) == 0 ? 1 : 0;
  }
  if ((row.flags & slot_flag::logical) != 0) {
    slot.logical_digest = digest_reference(row.value, true, {row.logical[0], row.logical[1]});
  }
  if (row.storage != ring::kNone) {
    bool added = false;
    const auto number = storage_ids_.find_or_add(row.storage, storages_, added);
    if (added) {
      ++storages_;
      first_writes_.push_back(row.writes);
      block_.variables.put_varint(zigzag(row.storage - last_storage_));
      block_.variables.put_varint(row.writes);
      last_storage_ = row.storage;
      slot.storage = 1;
    } else {
      slot.storage = storages_ - number + 1;
    }
    slot.writes = row.writes - first_writes_[number];
  } else {
    slot.writes = row.writes;
  }
  slot.writer_lane = row.writer_lane;
  if (row.writer != ring::kNone) {
    const bool inside = row.writer_lane == lane && row.writer >= first_position_ &&
                        row.writer <= event.position && event.position - row.writer < kVariable - 1;
    slot.writer = inside ? static_cast<std::uint32_t>(event.position - row.writer) + 1 : kVariable;
    if (!inside) put_reference(row.writer);
  }
  slot.geometry = geometry(ring.geometry(row.geometry));
  slot.name = string(ring.string(row.name));
  slot.flags = row.flags;
  slot.index = row.index;
  slot.element = row.element;
  slot.role = row.role;
  slot.alignment = row.alignment;
  return slot;
}

/// Values that are the same by construction share a digest; without such knowledge each has its
/// own, because values that happen to be equal in one step may not be in the next.
std::uint32_t SegmentBuilder::digest_reference(std::uint64_t value, bool logical,
                                               const Digest& digest) {
  const auto count = static_cast<std::uint32_t>(block_.digests.size());
  if (value != 0) {
    bool added = false;
    const auto number = (logical ? logical_values_ : values_).find_or_add(value, count, added);
    if (!added && block_.digests[number] == digest) return count - number + 1;
  }
  block_.digests.push_back(digest);
  return 1;
}

/// A generator's states follow each other, so equal ones are the same state.
std::uint32_t SegmentBuilder::rng_reference(const Digest& digest) {
  const auto count = static_cast<std::uint32_t>(block_.digests.size());
  bool added = false;
  const auto number = rng_states_.find_or_add(digest.high ^ digest.low, count, added);
  if (!added && block_.digests[number] == digest) return count - number + 1;
  block_.digests.push_back(digest);
  return 1;
}

std::uint32_t SegmentBuilder::distance_or_variable(std::uint64_t from, std::uint64_t to,
                                                   bool same_lane) {
  if (to == ring::kNone) return 0;
  if (same_lane && to >= first_position_ && to < from && from - to < kVariable) {
    return static_cast<std::uint32_t>(from - to);
  }
  put_reference(to);
  return kVariable;
}

void SegmentBuilder::put_reference(std::uint64_t position) {
  block_.variables.put_varint(zigzag(position - last_reference_));
  last_reference_ = position;
}

void SegmentBuilder::choose_template(BlockRow& block) {
  const Digest digest = digest_of_rows(block_);
  if (const auto found = template_ids_.find(digest); found != template_ids_.end()) {
    block.template_id = found->second;
    return;
  }
  for (Candidate& candidate : candidates_[{block_.events.size(), block_.slots.size()}]) {
    if (add_overrides(block, candidate)) return;
  }
  add_template(block, digest);
}

/// Stores the block as a template and its differences, unless those are too many; or unless blocks
/// like it have by now cost as much as a separate template would.
bool SegmentBuilder::add_overrides(BlockRow& block, Candidate& candidate) {
  const TemplateRow& row = tables_.templates[candidate.template_id - 1];
  const std::span events(tables_.template_events.data() + row.first_event, row.events);
  const std::span slots(tables_.template_slots.data() + row.first_slot, row.slots);
  const std::size_t most = (events.size() + slots.size()) / 4;
  const std::size_t own_size = size_of(block_.events) + size_of(block_.slots);
  std::vector<EventOverride> event_overrides;
  std::vector<SlotOverride> slot_overrides;
  std::vector<ArgumentOverride> argument_overrides;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const EventTemplate& mine = block_.events[i];
    if (same_bytes(mine, events[i])) continue;
    if (same_but_arguments(mine, events[i])) {
      argument_overrides.push_back({static_cast<std::uint32_t>(i), mine.arguments});
    } else {
      event_overrides.push_back({i, mine});
    }
    if (event_overrides.size() + argument_overrides.size() > most) return false;
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (same_bytes(block_.slots[i], slots[i])) continue;
    slot_overrides.push_back({static_cast<std::uint32_t>(i), block_.slots[i]});
    if (event_overrides.size() + argument_overrides.size() + slot_overrides.size() > most) {
      return false;
    }
  }
  candidate.overridden_bytes += size_of(event_overrides) + size_of(slot_overrides);
  if (candidate.overridden_bytes > own_size) return false;
  block.template_id = candidate.template_id;
  block.event_overrides = static_cast<std::uint32_t>(event_overrides.size());
  block.slot_overrides = static_cast<std::uint32_t>(slot_overrides.size());
  block.argument_overrides = static_cast<std::uint32_t>(argument_overrides.size());
  append(tables_.event_overrides, event_overrides);
  append(tables_.slot_overrides, slot_overrides);
  append(tables_.argument_overrides, argument_overrides);
  return true;
}

void SegmentBuilder::add_template(BlockRow& block, const Digest& digest) {
  tables_.templates.push_back(
      {tables_.template_events.size(), tables_.template_slots.size(), block.events, block.slots});
  append(tables_.template_events, block_.events);
  append(tables_.template_slots, block_.slots);
  block.template_id = static_cast<std::uint32_t>(tables_.templates.size());
  template_ids_.emplace(digest, block.template_id);
  auto& candidates = candidates_[{block_.events.size(), block_.slots.size()}];
  candidates.insert(candidates.begin(), Candidate{block.template_id});
  if (candidates.size() > kCandidates) candidates.pop_back();
}

std::uint32_t SegmentBuilder::string(std::uint32_t rank_id) {
  if (rank_id == 0) return 0;
  auto& id = at_id(strings_, rank_id);
  if (id == 0) id = tables_.strings.add(bytes_of(names_.strings.at(rank_id)));
  return id;
}

std::uint32_t SegmentBuilder::op(std::uint32_t rank_id) {
  if (rank_id == 0) return 0;
  if (const auto id = at_id(ops_, rank_id); id != 0) return id;
  const auto name = ByteReader(bytes_of(names_.ops.at(rank_id))).get<OpName>();
  tables_.ops.push_back({string(name.name), string(name.overload), string(name.argument_names),
                         string(name.return_names)});
  return ops_[rank_id] = static_cast<std::uint32_t>(tables_.ops.size());
}

std::uint32_t SegmentBuilder::geometry(std::uint32_t rank_id) {
  if (rank_id == 0) return 0;
  if (const auto id = at_id(geometries_, rank_id); id != 0) return id;
  ByteReader reader(bytes_of(names_.geometries.at(rank_id)));
  const auto name = reader.get<GeometryName>();
  tables_.geometries.push_back({tables_.dimensions.size(), name.storage_offset, name.flags,
                                name.dtype, name.device_type, name.device_index, name.layout,
                                name.dimensions, name.has_strides});
  while (reader.left() > 0) tables_.dimensions.push_back(reader.get<std::int64_t>());
  return geometries_[rank_id] = static_cast<std::uint32_t>(tables_.geometries.size());
}

std::uint32_t SegmentBuilder::arguments(std::span<const std::byte> bytes) {
  if (bytes.empty()) return 0;
  const auto id = argument_ids_.add(text_of(bytes));
  if (id > tables_.arguments.size()) tables_.arguments.add(bytes);
  return id;
}

}  // namespace ulpscope::dump
