#pragma once

#include <cstdint>
#include <type_traits>

#include "ulpscope/digest.hpp"

/// The rows of a segment's tables as they are on disk. FORMAT.md says what they mean; ids count
/// from 1 (0: none) and refer to tables of the same segment.
namespace ulpscope::dump {

/// Bump on any change an old reader would misread. Those before it were never released.
inline constexpr std::uint32_t kFormatVersion = 6;

/// In a template: the position or id is among the block's variables.
inline constexpr std::uint32_t kVariable = 0xffffffff;
/// Events of one block at most.
inline constexpr std::uint32_t kBlockEvents = 16384;

struct OpRow {
  std::uint32_t name;
  std::uint32_t overload;
  std::uint32_t argument_names;
  std::uint32_t return_names;
};

struct GeometryRow {
  std::uint64_t first_dimension;  ///< sizes, then strides if has_strides, in /dimensions
  std::int64_t storage_offset;
  std::uint16_t flags;
  std::uint8_t dtype;
  std::uint8_t device_type;
  std::int8_t device_index;
  std::uint8_t layout;
  std::uint8_t dimensions;
  std::uint8_t has_strides;
};

struct LaneRow {
  std::uint64_t events;
  std::uint32_t lane;
  std::uint32_t thread_name;
  std::uint64_t role;
};

struct TemplateRow {
  std::uint64_t first_event;
  std::uint64_t first_slot;
  std::uint32_t events;
  std::uint32_t slots;
};

/// An event without what changes from one repetition of a step to the next.
struct EventTemplate {
  std::uint64_t object;
  std::uint64_t rng_seed;
  std::uint32_t op;
  std::uint32_t module;
  std::uint32_t root;
  std::uint32_t module_type;
  std::uint32_t flags;
  std::uint32_t arguments;
  std::uint32_t position_step;  ///< position minus that of the row before
  std::uint32_t parent;         ///< positions back; 0: none
  std::uint32_t forward;        ///< positions back; 0: none
  std::uint32_t forward_lane;
  std::uint32_t rng_before;  ///< digest reference
  std::uint32_t rng_after;   ///< digest reference
  std::uint32_t stack;       ///< string id
  std::uint32_t reserved;
  std::uint16_t slots;
  std::uint16_t depth;
  std::uint16_t threads;
  std::uint8_t kind;
  std::uint8_t phase;
};

/// References to digests and storages: 0 none, 1 the block's next one, n + 1 the n-th last so far.
struct SlotTemplate {
  std::uint32_t digest;
  std::uint32_t logical_digest;
  std::uint32_t storage;
  std::uint32_t writes;  ///< more than where the block first met the storage
  std::uint32_t writer;  ///< positions back plus 1; 0: none
  std::uint32_t writer_lane;
  std::uint32_t geometry;
  std::uint32_t name;
  std::uint32_t flags;
  std::uint16_t index;
  std::uint16_t element;
  std::uint16_t role;
  std::uint16_t alignment;
};

struct BlockRow {
  std::int64_t step;
  std::uint64_t first_position;
  std::uint64_t last_position;
  std::uint64_t first_digest;
  std::uint64_t first_variable;
  std::uint64_t first_event_override;
  std::uint64_t first_slot_override;
  std::uint64_t first_argument_override;
  std::uint32_t lane;
  std::uint32_t template_id;
  std::uint32_t events;
  std::uint32_t values;
  std::uint32_t digests;
  std::uint32_t variables;
  std::uint32_t event_overrides;
  std::uint32_t slot_overrides;
  std::uint32_t argument_overrides;
  std::uint32_t slots;
};

struct EventOverride {
  std::uint64_t row;
  EventTemplate event;
};

struct SlotOverride {
  std::uint32_t row;
  SlotTemplate slot;
};

struct ArgumentOverride {
  std::uint32_t row;
  std::uint32_t arguments;
};

struct EnvironmentRow {
  std::int64_t step;
  std::uint32_t key;
  std::uint32_t value;
};

struct NoticeRow {
  std::uint32_t fatal;
  std::uint32_t text;
};

struct StatisticsRow {
  Digest digest;
  double min;
  double max;
  double mean;
  double l2;
  std::uint64_t elements;
  std::uint64_t nan;
  std::uint64_t inf;
  std::uint64_t zero;
  std::uint64_t subnormal;
  std::uint64_t dtype;
};

struct LayerRow {
  std::int64_t step;
  Digest digest;
  std::uint32_t path;
  std::uint32_t geometry;
};

struct ContentRow {
  Digest digest;
  std::uint64_t offset;  ///< in the file
  std::uint64_t bytes;
};

// Rows are hashed and compared as bytes, so none may hold padding.
static_assert(std::has_unique_object_representations_v<GeometryRow>);
static_assert(std::has_unique_object_representations_v<LaneRow>);
static_assert(std::has_unique_object_representations_v<EventTemplate> &&
              sizeof(EventTemplate) == 80);
static_assert(std::has_unique_object_representations_v<SlotTemplate> && sizeof(SlotTemplate) == 44);
static_assert(std::has_unique_object_representations_v<BlockRow>);
static_assert(std::has_unique_object_representations_v<EventOverride>);
static_assert(std::has_unique_object_representations_v<SlotOverride>);
static_assert(sizeof(StatisticsRow) == 96, "a number of any bits, but no padding");
static_assert(std::has_unique_object_representations_v<LayerRow>);
static_assert(std::has_unique_object_representations_v<ContentRow>);

}  // namespace ulpscope::dump
