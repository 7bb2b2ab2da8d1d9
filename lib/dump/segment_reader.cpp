#include "dump/segment_reader.hpp"

#include <algorithm>

#include "dump/file_digest.hpp"
#include "dump/schema.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::dump {
namespace {

constexpr std::uint8_t kMostTensorDimensions = 64;

bool fits(std::uint64_t first, std::uint64_t count, std::uint64_t size) {
  return first <= size && count <= size - first;
}

bool offsets_add_up(const StringTable& table) {
  return !table.offsets.empty() && table.offsets.front() == 0 &&
         table.offsets.back() == table.bytes.size() &&
         std::is_sorted(table.offsets.begin(), table.offsets.end()) &&
         table.offsets.size() - 1 < kVariable;
}

/// Whether a path of the layer tree stays below its root: an export turns it into files.
bool stays_below(std::string_view path) {
  if (path.starts_with('/')) return false;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    if (part == "." || part == "..") return false;
    path.remove_prefix(std::min(part.size() + 1, path.size()));
  }
  return true;
}

/// Whether ranges of rows follow each other, from the first row on. Ranges that shared rows could
/// represent far more than the file holds.
class InARow {
 public:
  explicit InARow(std::uint64_t size) noexcept : size_(size) {}
  [[nodiscard]] bool takes(std::uint64_t first, std::uint64_t count) noexcept {
    if (first != next_ || !fits(first, count, size_)) return false;
    next_ += count;
    return true;
  }

 private:
  std::uint64_t size_;
  std::uint64_t next_ = 0;
};

/// Owns what a Block's events refer to.
struct BlockStorage {
  std::shared_ptr<const Segment> segment;
  std::vector<Slot> slots;
};

/// Reads a content that is contiguous in a file, and checks its digest.
class SegmentContentReader : public ContentReader {
 public:
  SegmentContentReader(std::shared_ptr<const Segment> segment, const ContentRow& row)
      : segment_(std::move(segment)), row_(row) {
    constexpr std::uint64_t kWorthTelling = std::uint64_t{1} << 20;
    if (row.bytes >= kWorthTelling) segment_->file().expect_reading(row.offset, row.bytes);
  }

  [[nodiscard]] std::uint64_t size() const noexcept override { return row_.bytes; }

  void read(std::span<std::byte> piece) override {
    if (piece.size() > row_.bytes - done_) segment_->refuse_content(row_.digest);
    segment_->file().read_at(row_.offset + done_, piece);
    done_ += piece.size();
    digest_.update(piece);
    if (done_ == row_.bytes && !piece.empty() && digest_.finish() != row_.digest)
      segment_->refuse_content(row_.digest);
  }

 private:
  std::shared_ptr<const Segment> segment_;
  ContentRow row_;
  DigestStream digest_;
  std::uint64_t done_ = 0;
};

}  // namespace

/// Rebuilds the events of one block; the inverse of SegmentBuilder's normalise().
class BlockDecoder {
 public:
  BlockDecoder(const Segment& segment, std::span<const Geometry> geometries, const BlockRow& row)
      : segment_(segment),
        tables_(segment.tables()),
        geometries_(geometries),
        row_(row),
        digests_(std::span(tables_.digests).subspan(row.first_digest, row.digests)),
        variables_(std::span(tables_.variables).subspan(row.first_variable, row.variables)) {}

  /// False if the block is inconsistent.
  [[nodiscard]] bool decode(std::vector<Event>& events, std::vector<Slot>& slots) {
    apply_overrides();
    position_ = last_reference_ = row_.first_position;
    events.reserve(events_.size());
    slots.resize(slots_.size());
    std::size_t slot = 0;
    for (std::size_t i = 0; i < events_.size() && ok_; ++i) {
      const EventTemplate& stored = events_[i];
      if (stored.slots > slots_.size() - slot || (i == 0 && stored.position_step != 0))
        return false;
      events.push_back(event(stored));
      for (std::size_t k = 0; k < stored.slots; ++k) slots[slot + k] = this->slot(slots_[slot + k]);
      events.back().slots = std::span(slots).subspan(slot, stored.slots);
      slot += stored.slots;
    }
    return ok_ && variables_.ok() && variables_.left() == 0 && slot == slots_.size() &&
           next_digest_ == digests_.size() && position_ == row_.last_position;
  }

 private:
  void apply_overrides() {
    const TemplateRow& source = tables_.templates[row_.template_id - 1];
    const auto first_event =
        tables_.template_events.begin() + static_cast<std::ptrdiff_t>(source.first_event);
    events_.assign(first_event, first_event + source.events);
    const auto first_slot =
        tables_.template_slots.begin() + static_cast<std::ptrdiff_t>(source.first_slot);
    slots_.assign(first_slot, first_slot + source.slots);
    for (const auto& change : std::span(tables_.event_overrides)
                                  .subspan(row_.first_event_override, row_.event_overrides)) {
      events_[change.row] = change.event;
    }
    for (const auto& change : std::span(tables_.argument_overrides)
                                  .subspan(row_.first_argument_override, row_.argument_overrides)) {
      events_[change.row].arguments = change.arguments;
    }
    for (const auto& change :
         std::span(tables_.slot_overrides).subspan(row_.first_slot_override, row_.slot_overrides)) {
      slots_[change.row] = change.slot;
    }
  }

  Event event(const EventTemplate& stored) {
    position_ += stored.position_step;
    Event event;
    event.position = position_;
    event.object = stored.object;
    event.kind = static_cast<EventKind>(stored.kind);
    event.phase = static_cast<Phase>(stored.phase);
    event.depth = stored.depth;
    event.threads = stored.threads;
    event.flags = stored.flags;
    if (stored.op != 0) {
      const OpRow& op = tables_.ops[stored.op - 1];
      event.op = segment_.string(op.name);
      event.overload = segment_.string(op.overload);
      event.argument_names = segment_.string(op.argument_names);
      event.return_names = segment_.string(op.return_names);
    }
    event.root = segment_.string(stored.root);
    event.module = segment_.string(stored.module);
    event.module_type = segment_.string(stored.module_type);
    event.has_module = stored.module != 0;
    event.stack = segment_.string(stored.stack);
    event.argument_bytes = tables_.arguments.at(stored.arguments);
    event.parent = back(stored.parent);
    event.forward = back(stored.forward);
    event.forward_lane = stored.forward_lane;
    if ((stored.flags & event_flag::seeded) != 0) {
      event.rng = {stored.rng_seed, digest(stored.rng_before), {}};
      event.rng.after = digest(stored.rng_after);
    }
    return event;
  }

  Slot slot(const SlotTemplate& stored) {
    Slot slot;
    slot.role = static_cast<Role>(stored.role);
    slot.index = stored.index;
    slot.element = stored.element;
    slot.flags = stored.flags;
    slot.digest = digest(stored.digest);
    slot.logical_digest = digest(stored.logical_digest);
    slot.writes = stored.writes;
    if (stored.storage != 0) read_storage(stored, slot);
    slot.writer_lane = stored.writer_lane;
    if (stored.writer == kVariable) {
      slot.writer = reference();
    } else if (stored.writer != 0) {
      slot.writer = position_ - (stored.writer - 1);
    }
    slot.alignment = static_cast<std::uint8_t>(stored.alignment);
    if (stored.geometry != 0) slot.geometry = &geometries_[stored.geometry - 1];
    slot.name = segment_.string(stored.name);
    return slot;
  }

  void read_storage(const SlotTemplate& stored, Slot& slot) {
    if (stored.storage == 1) {
      last_storage_ += unzigzag(variables_.get_varint());
      storages_.push_back({last_storage_, static_cast<std::uint32_t>(variables_.get_varint())});
    }
    const std::size_t behind = std::max(stored.storage - 1, 1U);
    if (behind > storages_.size()) {
      ok_ = false;
      return;
    }
    const Storage& storage = storages_[storages_.size() - behind];
    slot.storage = storage.id;
    slot.writes = storage.first_writes + stored.writes;
  }

  Digest digest(std::uint32_t stored) {
    if (stored == 0) return {};
    if (stored == 1) ++next_digest_;
    const std::size_t behind = std::max(stored - 1, 1U);
    if (behind > next_digest_ || next_digest_ > digests_.size()) {
      ok_ = false;
      return {};
    }
    return digests_[next_digest_ - behind];
  }

  std::uint64_t back(std::uint32_t stored) {
    if (stored == 0) return kNone;
    return stored == kVariable ? reference() : position_ - stored;
  }

  std::uint64_t reference() {
    last_reference_ += unzigzag(variables_.get_varint());
    return last_reference_;
  }

  struct Storage {
    std::uint64_t id;
    std::uint32_t first_writes;
  };

  const Segment& segment_;
  const Tables& tables_;
  std::span<const Geometry> geometries_;
  const BlockRow& row_;
  std::span<const Digest> digests_;
  ByteReader variables_;
  std::vector<EventTemplate> events_;
  std::vector<SlotTemplate> slots_;
  std::vector<Storage> storages_;
  std::uint64_t position_ = 0;
  std::uint64_t last_reference_ = 0;
  std::uint64_t last_storage_ = 0;
  std::size_t next_digest_ = 0;
  bool ok_ = true;
};

std::shared_ptr<const Segment> Segment::open(const std::filesystem::path& path) {
  const std::shared_ptr<Segment> segment(new Segment);
  segment->path_ = path;
  segment->file_ = File::open(path);
  segment->file_bytes_ = segment->file_->size();
  const Seal seal = check_seal(*segment->file_);
  segment->seal_ = seal.digest;
  segment->read_tables(*segment->file_, seal.directory);
  segment->check_tables();
  segment->decode_geometries();
  return segment;
}

void Segment::refuse(const std::string& what) const {
  throw Error(ErrorCode::corrupt, "The segment '" + path_.string() + "' is damaged: " + what,
              "Run `ulpscope verify` on the dump to see what else is damaged.");
}

void Segment::read_tables(const File& file, const Directory& directory) {
  std::size_t next = 0;
  std::uint64_t left = file_bytes_;
  const auto read = [&](const TableSchema& table, auto& rows) {
    const TablePlace& place = directory.tables.at(next++);
    // Overlapping tables could require many times as much memory as the file has bytes.
    if (place.rows > left / table.row_size) refuse("its tables are larger than the file.");
    const std::uint64_t bytes = place.rows * table.row_size;
    left -= bytes;
    if (!fits(place.offset, bytes, file_bytes_)) {
      refuse("its table " + std::string(table.path) + " stands outside of the file.");
    }
    rows.resize(place.rows);
    file.read_at(place.offset, std::as_writable_bytes(std::span(rows)));
  };
  for_each_table(tables_, read);
  if (root_digest(tables_) != directory.root_digest) {
    refuse("its tables do not have the digest they were published with.");
  }
  std::vector<std::byte> attributes;
  read(schema::kAttributes, attributes);
  const auto decoded = decode_attributes(attributes);
  if (!decoded) refuse("its table /attributes does not add up.");
  attributes_ = *decoded;
}

void Segment::check_tables() const {
  const Tables& t = tables_;
  const auto expect = [this](bool right, const char* table) {
    if (!right) refuse("its table " + std::string(table) + " does not add up.");
  };
  expect(offsets_add_up(t.strings), "/strings");
  expect(offsets_add_up(t.arguments), "/arguments");
  const auto strings = t.strings.size();
  for (const OpRow& op : t.ops) {
    expect(op.name <= strings && op.overload <= strings && op.argument_names <= strings &&
               op.return_names <= strings,
           "/ops");
  }
  InARow dimensions(t.dimensions.size());
  for (const GeometryRow& geometry : t.geometries) {
    expect(geometry.dimensions <= kMostTensorDimensions && geometry.has_strides <= 1 &&
               dimensions.takes(geometry.first_dimension,
                                std::uint64_t{geometry.dimensions} * (1U + geometry.has_strides)),
           "/geometries");
  }
  for (const LaneRow& lane : t.lanes) {
    expect(
        lane.thread_name <= strings && lane.role <= static_cast<std::uint64_t>(LaneRole::trainer),
        "/lanes");
  }
  const auto good_event = [&](const EventTemplate& event) {
    return event.op <= t.ops.size() && event.module <= strings && event.root <= strings &&
           event.module_type <= strings && event.arguments <= t.arguments.size() &&
           event.stack <= strings && event.kind >= static_cast<std::uint8_t>(EventKind::op) &&
           event.kind <= static_cast<std::uint8_t>(EventKind::outcome) &&
           event.phase <= static_cast<std::uint8_t>(Phase::eval);
  };
  const auto good_slot = [&](const SlotTemplate& slot) {
    return slot.geometry <= t.geometries.size() && slot.name <= strings && slot.role <= 2 &&
           slot.alignment <= 255;
  };
  expect(std::all_of(t.template_events.begin(), t.template_events.end(), good_event),
         "/template_events");
  expect(std::all_of(t.template_slots.begin(), t.template_slots.end(), good_slot),
         "/template_slots");
  InARow template_events(t.template_events.size());
  InARow template_slots(t.template_slots.size());
  for (const TemplateRow& row : t.templates) {
    expect(template_events.takes(row.first_event, row.events) &&
               template_slots.takes(row.first_slot, row.slots),
           "/templates");
  }
  InARow digests(t.digests.size());
  InARow variables(t.variables.size());
  InARow event_overrides(t.event_overrides.size());
  InARow slot_overrides(t.slot_overrides.size());
  InARow argument_overrides(t.argument_overrides.size());
  for (const BlockRow& block : t.blocks) {
    expect(block.template_id >= 1 && block.template_id <= t.templates.size(), "/blocks");
    const TemplateRow& source = t.templates[block.template_id - 1];
    expect(block.events == source.events && block.slots == source.slots && block.events > 0 &&
               block.events <= kBlockEvents && block.last_position >= block.first_position &&
               block.step >= kSetup && digests.takes(block.first_digest, block.digests) &&
               variables.takes(block.first_variable, block.variables) &&
               event_overrides.takes(block.first_event_override, block.event_overrides) &&
               slot_overrides.takes(block.first_slot_override, block.slot_overrides) &&
               argument_overrides.takes(block.first_argument_override, block.argument_overrides),
           "/blocks");
    for (const auto& change :
         std::span(t.event_overrides).subspan(block.first_event_override, block.event_overrides)) {
      expect(change.row < block.events && good_event(change.event), "/event_overrides");
    }
    for (const auto& change :
         std::span(t.slot_overrides).subspan(block.first_slot_override, block.slot_overrides)) {
      expect(change.row < block.slots && good_slot(change.slot), "/slot_overrides");
    }
    for (const auto& change :
         std::span(t.argument_overrides)
             .subspan(block.first_argument_override, block.argument_overrides)) {
      expect(change.row < block.events && change.arguments <= t.arguments.size(),
             "/argument_overrides");
    }
  }
  for (const EnvironmentRow& entry : t.environment) {
    expect(entry.key <= strings && entry.value <= strings && entry.step >= kSetup, "/environment");
  }
  for (const LayerRow& layer : t.layers) {
    expect(layer.path >= 1 && layer.path <= strings && stays_below(string(layer.path)) &&
               layer.geometry >= 1 && layer.geometry <= t.geometries.size() && layer.step >= kSetup,
           "/layers");
  }
  std::uint64_t left = file_bytes_;  // contents do not overlap
  for (const ContentRow& row : t.contents) {
    expect(row.bytes <= left && fits(row.offset, row.bytes, file_bytes_), "/content/index");
    left -= row.bytes;
  }
  for (const StatisticsRow& row : t.statistics) expect(row.dtype <= 255, "/statistics");
  for (const NoticeRow& notice : t.notices) expect(notice.text <= strings, "/notices");
}

void Segment::decode_geometries() {
  geometries_.reserve(tables_.geometries.size());
  for (const GeometryRow& row : tables_.geometries) {
    Geometry& geometry = geometries_.emplace_back();
    geometry.dtype = static_cast<Dtype>(row.dtype);
    geometry.device_type = row.device_type;
    geometry.device_index = row.device_index;
    geometry.layout = row.layout;
    geometry.flags = row.flags;
    geometry.storage_offset = row.storage_offset;
    const auto sizes =
        tables_.dimensions.begin() + static_cast<std::ptrdiff_t>(row.first_dimension);
    geometry.sizes.assign(sizes, sizes + row.dimensions);
    if (row.has_strides != 0) {
      geometry.strides.assign(sizes + row.dimensions, sizes + 2 * row.dimensions);
    }
  }
}

Block Segment::block(std::size_t index) const {
  const BlockRow& row = tables_.blocks.at(index);
  auto storage = std::make_shared<BlockStorage>();
  storage->segment = shared_from_this();
  Block block;
  block.step = row.step;
  block.lane = row.lane;
  if (!BlockDecoder(*this, geometries_, row).decode(block.events, storage->slots)) {
    refuse("block " + std::to_string(index) + " does not add up.");
  }
  block.storage = std::move(storage);
  return block;
}

LayerValue Segment::layer_value(const LayerRow& row) const {
  return {row.step, std::string(string(row.path)), row.digest, geometries_[row.geometry - 1]};
}

std::optional<Statistics> Segment::statistics(const Digest& digest, Dtype dtype) const {
  const auto& rows = tables_.statistics;
  const auto found = statistics_.find(ValueKey{digest, dtype}, rows.size(), [&](std::size_t row) {
    return ValueKey{rows[row].digest, static_cast<Dtype>(rows[row].dtype)};
  });
  if (!found) return std::nullopt;
  const StatisticsRow& row = rows[*found];
  return Statistics{row.min, row.max, row.mean, row.l2,       row.elements,
                    row.nan, row.inf, row.zero, row.subnormal};
}

const ContentRow* Segment::find_content(const Digest& digest) const {
  const auto& rows = tables_.contents;
  const auto found =
      contents_.find(digest, rows.size(), [&](std::size_t row) { return rows[row].digest; });
  return found ? &rows[*found] : nullptr;
}

std::optional<std::vector<std::byte>> Segment::content(const Digest& wanted) const {
  const ContentRow* found = find_content(wanted);
  if (found == nullptr) return std::nullopt;
  return content_of(*found);
}

std::optional<std::uint64_t> Segment::content_size(const Digest& wanted) const {
  const ContentRow* found = find_content(wanted);
  if (found == nullptr) return std::nullopt;
  return found->bytes;
}

std::vector<std::byte> Segment::content_of(const ContentRow& row) const {
  std::vector<std::byte> bytes(row.bytes);
  if (row.bytes > 0) file_->read_at(row.offset, bytes);
  if (digest(bytes) != row.digest) refuse_content(row.digest);
  return bytes;
}

void Segment::check_content(const ContentRow& row) const {
  DigestStream stream;
  digest_of_file(*file_, row.offset, row.bytes, stream);
  if (stream.finish() != row.digest) refuse_content(row.digest);
}

std::unique_ptr<ContentReader> Segment::open_content(const Digest& wanted) const {
  const ContentRow* found = find_content(wanted);
  if (found == nullptr) return nullptr;
  return std::make_unique<SegmentContentReader>(shared_from_this(), *found);
}

void Segment::refuse_content(const Digest& digest) const {
  refuse("the content " + to_string(digest) + " does not have that digest.");
}

}  // namespace ulpscope::dump
