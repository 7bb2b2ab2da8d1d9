#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dump/batch.hpp"
#include "dump/id_map.hpp"
#include "dump/names.hpp"
#include "dump/rows.hpp"

namespace ulpscope::dump {

struct DigestHash {
  std::size_t operator()(const Digest& digest) const noexcept {
    return static_cast<std::size_t>(digest.low ^ digest.high);
  }
};

/// What statistics belong to: equal bytes of a different dtype are a different value.
struct ValueKey {
  Digest digest;
  Dtype dtype = Dtype::undefined;
  friend auto operator<=>(const ValueKey&, const ValueKey&) = default;
};

struct ValueKeyHash {
  std::size_t operator()(const ValueKey& key) const noexcept {
    return DigestHash{}(key.digest) + static_cast<std::size_t>(key.dtype);
  }
};

/// Byte strings one after the other; string k (from 1) ends at offsets[k].
struct StringTable {
  std::vector<std::byte> bytes;
  std::vector<std::uint64_t> offsets{0};

  std::uint32_t add(std::span<const std::byte> item);
  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(offsets.size() - 1);
  }
  /// The empty string for 0.
  [[nodiscard]] std::span<const std::byte> at(std::uint32_t id) const noexcept;
};

/// The tables of one segment as they are on disk.
struct Tables {
  StringTable strings;
  StringTable arguments;
  std::vector<OpRow> ops;
  std::vector<GeometryRow> geometries;
  std::vector<std::int64_t> dimensions;
  std::vector<LaneRow> lanes;
  std::vector<TemplateRow> templates;
  std::vector<EventTemplate> template_events;
  std::vector<SlotTemplate> template_slots;
  std::vector<BlockRow> blocks;
  std::vector<Digest> digests;
  std::vector<std::byte> variables;
  std::vector<EventOverride> event_overrides;
  std::vector<SlotOverride> slot_overrides;
  std::vector<ArgumentOverride> argument_overrides;
  std::vector<EnvironmentRow> environment;
  std::vector<NoticeRow> notices;
  std::vector<StatisticsRow> statistics;
  std::vector<LayerRow> layers;
  std::vector<ContentRow> contents;

  [[nodiscard]] std::uint64_t bytes() const noexcept;
};

/// Digest of all tables in their order: independent of the rest of the file.
[[nodiscard]] Digest root_digest(const Tables& tables);

/// One block in template form.
struct NormalBlock {
  std::vector<EventTemplate> events;
  std::vector<SlotTemplate> slots;
  std::vector<Digest> digests;
  ByteWriter variables;
  std::uint32_t values = 0;

  void clear() noexcept;
};

/// Fills the tables of the current segment. Names are entered when a block first uses them.
class SegmentBuilder {
 public:
  explicit SegmentBuilder(const RankNames& names) noexcept : names_(names) {}

  /// Events of one lane and step, by position; at most kBlockEvents.
  void add_block(std::uint32_t lane, std::int64_t step, const RingNames& ring,
                 std::span<const PlacedEvent> events);

  /// The segment's id of a rank-wide string id.
  [[nodiscard]] std::uint32_t string(std::uint32_t rank_id);
  /// The segment's id of a rank-wide geometry id.
  [[nodiscard]] std::uint32_t geometry(std::uint32_t rank_id);
  [[nodiscard]] Tables& tables() noexcept { return tables_; }
  [[nodiscard]] const Tables& tables() const noexcept { return tables_; }
  [[nodiscard]] std::int64_t first_step() const noexcept { return first_step_; }
  [[nodiscard]] std::int64_t last_step() const noexcept { return last_step_; }

 private:
  /// Blocks that could share a template have as many events and slots.
  struct Shape {
    std::size_t events;
    std::size_t slots;
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  struct ShapeHash {
    std::size_t operator()(const Shape& shape) const noexcept {
      return shape.events * 0x9e3779b97f4a7c15ULL ^ shape.slots;
    }
  };
  struct Candidate {
    std::uint32_t template_id;
    std::size_t overridden_bytes = 0;  ///< spent on blocks that are almost this template
  };

  void normalise(std::uint32_t lane, const RingNames& ring, std::span<const PlacedEvent> events);
  EventTemplate normalise(std::uint32_t lane, const RingNames& ring, const PlacedEvent& placed,
                          std::uint64_t previous_position);
  SlotTemplate normalise(std::uint32_t lane, const RingNames& ring, const ring::EventRow& event,
                         const ring::SlotRow& slot);
  std::uint32_t digest_reference(std::uint64_t value, bool logical, const Digest& digest);
  std::uint32_t rng_reference(const Digest& digest);
  std::uint32_t distance_or_variable(std::uint64_t from, std::uint64_t to, bool same_lane);
  void put_reference(std::uint64_t position);

  void choose_template(BlockRow& block);
  bool add_overrides(BlockRow& block, Candidate& candidate);
  void add_template(BlockRow& block, const Digest& digest);

  std::uint32_t op(std::uint32_t rank_id);
  std::uint32_t arguments(std::span<const std::byte> bytes);

  const RankNames& names_;
  Tables tables_;
  std::vector<std::uint32_t> strings_;  ///< by rank id
  std::vector<std::uint32_t> ops_;
  std::vector<std::uint32_t> geometries_;
  Pool argument_ids_;
  std::unordered_map<Digest, std::uint32_t, DigestHash> template_ids_;
  std::unordered_map<Shape, std::vector<Candidate>, ShapeHash> candidates_;
  std::int64_t first_step_ = kSetup;
  std::int64_t last_step_ = kSetup;

  NormalBlock block_;
  std::uint64_t first_position_ = 0;
  std::uint64_t last_reference_ = 0;
  std::uint64_t last_storage_ = 0;
  std::uint32_t storages_ = 0;
  std::vector<std::uint32_t> first_writes_;
  IdMap values_;
  IdMap logical_values_;
  IdMap rng_states_;
  IdMap storage_ids_;
};

}  // namespace ulpscope::dump
