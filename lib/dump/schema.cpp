#include "dump/schema.hpp"

namespace ulpscope::dump {
namespace {

using enum ColumnType;

constexpr std::array kOpColumns = {
    Column{"name", offsetof(OpRow, name), u32},
    Column{"overload", offsetof(OpRow, overload), u32},
    Column{"argument_names", offsetof(OpRow, argument_names), u32},
    Column{"return_names", offsetof(OpRow, return_names), u32},
};

constexpr std::array kGeometryColumns = {
    Column{"first_dimension", offsetof(GeometryRow, first_dimension), u64},
    Column{"storage_offset", offsetof(GeometryRow, storage_offset), i64},
    Column{"flags", offsetof(GeometryRow, flags), u16},
    Column{"dtype", offsetof(GeometryRow, dtype), dtype},
    Column{"device_type", offsetof(GeometryRow, device_type), u8},
    Column{"device_index", offsetof(GeometryRow, device_index), i8},
    Column{"layout", offsetof(GeometryRow, layout), u8},
    Column{"dimensions", offsetof(GeometryRow, dimensions), u8},
    Column{"has_strides", offsetof(GeometryRow, has_strides), u8},
};

constexpr std::array kLaneColumns = {
    Column{"events", offsetof(LaneRow, events), u64},
    Column{"lane", offsetof(LaneRow, lane), u32},
    Column{"thread_name", offsetof(LaneRow, thread_name), u32},
    Column{"role", offsetof(LaneRow, role), lane_role},
};

constexpr std::array kTemplateColumns = {
    Column{"first_event", offsetof(TemplateRow, first_event), u64},
    Column{"first_slot", offsetof(TemplateRow, first_slot), u64},
    Column{"events", offsetof(TemplateRow, events), u32},
    Column{"slots", offsetof(TemplateRow, slots), u32},
};

constexpr auto event_columns(std::size_t base) {
  return std::array{
      Column{"object", base + offsetof(EventTemplate, object), u64},
      Column{"rng_seed", base + offsetof(EventTemplate, rng_seed), u64},
      Column{"op", base + offsetof(EventTemplate, op), u32},
      Column{"module", base + offsetof(EventTemplate, module), u32},
      Column{"root", base + offsetof(EventTemplate, root), u32},
      Column{"module_type", base + offsetof(EventTemplate, module_type), u32},
      Column{"flags", base + offsetof(EventTemplate, flags), u32},
      Column{"arguments", base + offsetof(EventTemplate, arguments), u32},
      Column{"position_step", base + offsetof(EventTemplate, position_step), u32},
      Column{"parent", base + offsetof(EventTemplate, parent), u32},
      Column{"forward", base + offsetof(EventTemplate, forward), u32},
      Column{"forward_lane", base + offsetof(EventTemplate, forward_lane), u32},
      Column{"rng_before", base + offsetof(EventTemplate, rng_before), u32},
      Column{"rng_after", base + offsetof(EventTemplate, rng_after), u32},
      Column{"stack", base + offsetof(EventTemplate, stack), u32},
      Column{"reserved", base + offsetof(EventTemplate, reserved), u32},
      Column{"slots", base + offsetof(EventTemplate, slots), u16},
      Column{"depth", base + offsetof(EventTemplate, depth), u16},
      Column{"threads", base + offsetof(EventTemplate, threads), u16},
      Column{"kind", base + offsetof(EventTemplate, kind), event_kind},
      Column{"phase", base + offsetof(EventTemplate, phase), phase},
  };
}

constexpr auto slot_columns(std::size_t base) {
  return std::array{
      Column{"digest", base + offsetof(SlotTemplate, digest), u32},
      Column{"logical_digest", base + offsetof(SlotTemplate, logical_digest), u32},
      Column{"storage", base + offsetof(SlotTemplate, storage), u32},
      Column{"writes", base + offsetof(SlotTemplate, writes), u32},
      Column{"writer", base + offsetof(SlotTemplate, writer), u32},
      Column{"writer_lane", base + offsetof(SlotTemplate, writer_lane), u32},
      Column{"geometry", base + offsetof(SlotTemplate, geometry), u32},
      Column{"name", base + offsetof(SlotTemplate, name), u32},
      Column{"flags", base + offsetof(SlotTemplate, flags), u32},
      Column{"index", base + offsetof(SlotTemplate, index), u16},
      Column{"element", base + offsetof(SlotTemplate, element), u16},
      Column{"role", base + offsetof(SlotTemplate, role), role},
      Column{"alignment", base + offsetof(SlotTemplate, alignment), u16},
  };
}

template <std::size_t N>
constexpr std::array<Column, N + 1> with_row(ColumnType type, const std::array<Column, N>& rest) {
  std::array<Column, N + 1> columns{Column{"row", 0, type}};
  for (std::size_t i = 0; i < N; ++i) columns[i + 1] = rest[i];
  return columns;
}

constexpr auto kEventColumns = event_columns(0);
constexpr auto kSlotColumns = slot_columns(0);
constexpr auto kEventOverrideColumns = with_row(u64, event_columns(offsetof(EventOverride, event)));
constexpr auto kSlotOverrideColumns = with_row(u32, slot_columns(offsetof(SlotOverride, slot)));

constexpr std::array kArgumentOverrideColumns = {
    Column{"row", offsetof(ArgumentOverride, row), u32},
    Column{"arguments", offsetof(ArgumentOverride, arguments), u32},
};

constexpr std::array kBlockColumns = {
    Column{"step", offsetof(BlockRow, step), i64},
    Column{"first_position", offsetof(BlockRow, first_position), u64},
    Column{"last_position", offsetof(BlockRow, last_position), u64},
    Column{"first_digest", offsetof(BlockRow, first_digest), u64},
    Column{"first_variable", offsetof(BlockRow, first_variable), u64},
    Column{"first_event_override", offsetof(BlockRow, first_event_override), u64},
    Column{"first_slot_override", offsetof(BlockRow, first_slot_override), u64},
    Column{"first_argument_override", offsetof(BlockRow, first_argument_override), u64},
    Column{"lane", offsetof(BlockRow, lane), u32},
    Column{"template", offsetof(BlockRow, template_id), u32},
    Column{"events", offsetof(BlockRow, events), u32},
    Column{"values", offsetof(BlockRow, values), u32},
    Column{"digests", offsetof(BlockRow, digests), u32},
    Column{"variables", offsetof(BlockRow, variables), u32},
    Column{"event_overrides", offsetof(BlockRow, event_overrides), u32},
    Column{"slot_overrides", offsetof(BlockRow, slot_overrides), u32},
    Column{"argument_overrides", offsetof(BlockRow, argument_overrides), u32},
    Column{"slots", offsetof(BlockRow, slots), u32},
};

constexpr std::array kDigestColumns = {
    Column{"high", offsetof(Digest, high), u64},
    Column{"low", offsetof(Digest, low), u64},
};

constexpr std::array kEnvironmentColumns = {
    Column{"step", offsetof(EnvironmentRow, step), i64},
    Column{"key", offsetof(EnvironmentRow, key), u32},
    Column{"value", offsetof(EnvironmentRow, value), u32},
};

constexpr std::array kNoticeColumns = {
    Column{"fatal", offsetof(NoticeRow, fatal), u32},
    Column{"text", offsetof(NoticeRow, text), u32},
};

constexpr std::array kStatisticsColumns = {
    Column{"digest_high", offsetof(StatisticsRow, digest) + offsetof(Digest, high), u64},
    Column{"digest_low", offsetof(StatisticsRow, digest) + offsetof(Digest, low), u64},
    Column{"min", offsetof(StatisticsRow, min), f64},
    Column{"max", offsetof(StatisticsRow, max), f64},
    Column{"mean", offsetof(StatisticsRow, mean), f64},
    Column{"l2", offsetof(StatisticsRow, l2), f64},
    Column{"elements", offsetof(StatisticsRow, elements), u64},
    Column{"nan", offsetof(StatisticsRow, nan), u64},
    Column{"inf", offsetof(StatisticsRow, inf), u64},
    Column{"zero", offsetof(StatisticsRow, zero), u64},
    Column{"subnormal", offsetof(StatisticsRow, subnormal), u64},
    Column{"dtype", offsetof(StatisticsRow, dtype), wide_dtype},
};

constexpr std::array kLayerColumns = {
    Column{"step", offsetof(LayerRow, step), i64},
    Column{"digest_high", offsetof(LayerRow, digest) + offsetof(Digest, high), u64},
    Column{"digest_low", offsetof(LayerRow, digest) + offsetof(Digest, low), u64},
    Column{"path", offsetof(LayerRow, path), u32},
    Column{"geometry", offsetof(LayerRow, geometry), u32},
};

constexpr std::array kContentColumns = {
    Column{"digest_high", offsetof(ContentRow, digest) + offsetof(Digest, high), u64},
    Column{"digest_low", offsetof(ContentRow, digest) + offsetof(Digest, low), u64},
    Column{"offset", offsetof(ContentRow, offset), u64},
    Column{"bytes", offsetof(ContentRow, bytes), u64},
};

}  // namespace

namespace schema {

const TableSchema kStringBytes{
    "/strings/bytes", "UTF-8 of all strings, one after the other", {}, 1, u8};
const TableSchema kStringOffsets{
    "/strings/offsets",
    "string k (from 1) is bytes[offsets[k-1]:offsets[k]]; 0 means none",
    {},
    8,
    u64};
const TableSchema kArgumentBytes{
    "/arguments/bytes", "encoded arguments of ops that are not tensors, each kind once", {}, 1, u8};
const TableSchema kArgumentOffsets{
    "/arguments/offsets",
    "arguments k (from 1) are bytes[offsets[k-1]:offsets[k]]; 0 means none",
    {},
    8,
    u64};
const TableSchema kOps{
    "/ops", "ops, autograd nodes, module types, optimizers and scopes; columns are string ids",
    kOpColumns, sizeof(OpRow)};
const TableSchema kGeometries{
    "/geometries",
    "dtype, device and shape of values: sizes, then strides if has_strides, in elements, from "
    "first_dimension of /dimensions",
    kGeometryColumns, sizeof(GeometryRow)};
const TableSchema kDimensions{
    "/dimensions", "sizes and strides of /geometries, in elements", {}, 8, i64};
const TableSchema kLanes{"/lanes", "the logical threads of this rank so far", kLaneColumns,
                         sizeof(LaneRow)};
const TableSchema kTemplates{
    "/templates", "structures of steps: ranges of rows in /template_events and /template_slots",
    kTemplateColumns, sizeof(TemplateRow)};
const TableSchema kTemplateEvents{"/template_events",
                                  "events of the templates, without what changes from step to step",
                                  kEventColumns, sizeof(EventTemplate)};
const TableSchema kTemplateSlots{
    "/template_slots",
    "tensors of the template's events: digest and storage are references, 1 for the block's next "
    "one, n+1 for the n-th last so far",
    kSlotColumns, sizeof(SlotTemplate)};
const TableSchema kBlocks{
    "/blocks", "events of one lane in one step: a template and what this step adds to it",
    kBlockColumns, sizeof(BlockRow)};
const TableSchema kDigests{"/digests", "the values of the blocks, in order of first appearance",
                           kDigestColumns, sizeof(Digest)};
const TableSchema kVariables{
    "/variables",
    "storages, write counts and far positions of the blocks, as variable-length integers",
    {},
    1,
    u8};
const TableSchema kEventOverrides{"/event_overrides",
                                  "rows of a block's events that stand in place of the template's",
                                  kEventOverrideColumns, sizeof(EventOverride)};
const TableSchema kSlotOverrides{"/slot_overrides",
                                 "rows of a block's slots that stand in place of the template's",
                                 kSlotOverrideColumns, sizeof(SlotOverride)};
const TableSchema kArgumentOverrides{
    "/argument_overrides", "arguments of a block's events that stand in place of the template's",
    kArgumentOverrideColumns, sizeof(ArgumentOverride)};
const TableSchema kEnvironment{
    "/environment", "settings of the process and the step from which on each holds (-1: setup)",
    kEnvironmentColumns, sizeof(EnvironmentRow)};
const TableSchema kNotices{"/notices", "what this recording says about its own completeness",
                           kNoticeColumns, sizeof(NoticeRow)};
const TableSchema kStatistics{
    "/statistics",
    "minimum, maximum, mean, L2 norm and counts of values, by digest and dtype; complex numbers "
    "count as two elements",
    kStatisticsColumns, sizeof(StatisticsRow)};
const TableSchema kLayers{"/layers",
                          "the datasets under /steps and /setup: path, digest of the bytes, which "
                          "are in row-major order, and geometry of the value as it was in memory",
                          kLayerColumns, sizeof(LayerRow)};
const TableSchema kContentIndex{"/content/index",
                                "where in this file the bytes of a value stand, by digest",
                                kContentColumns, sizeof(ContentRow)};
const TableSchema kAttributes{
    "/attributes", "what the attributes of the root say, for readers without HDF5", {}, 1, u8};

}  // namespace schema
}  // namespace ulpscope::dump
