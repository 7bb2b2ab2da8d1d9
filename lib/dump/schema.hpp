#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dump/rows.hpp"

/// Names, columns and descriptions of a segment's tables: what h5dump and h5py show.
namespace ulpscope::dump {

enum class ColumnType : std::uint8_t {
  u8,
  i8,
  u16,
  u32,
  u64,
  i64,
  event_kind,
  phase,
  role,
  lane_role,
  dtype,
  wide_dtype,  ///< in 8 bytes
  f64,
};

struct Column {
  const char* name;
  std::size_t offset;
  ColumnType type;
};

struct TableSchema {
  const char* path;
  const char* description;
  std::span<const Column> columns;  ///< none: a plain array of `element`
  std::size_t row_size;
  ColumnType element = ColumnType::u8;
};

namespace schema {

extern const TableSchema kStringBytes;
extern const TableSchema kStringOffsets;
extern const TableSchema kArgumentBytes;
extern const TableSchema kArgumentOffsets;
extern const TableSchema kOps;
extern const TableSchema kGeometries;
extern const TableSchema kDimensions;
extern const TableSchema kLanes;
extern const TableSchema kTemplates;
extern const TableSchema kTemplateEvents;
extern const TableSchema kTemplateSlots;
extern const TableSchema kBlocks;
extern const TableSchema kDigests;
extern const TableSchema kVariables;
extern const TableSchema kEventOverrides;
extern const TableSchema kSlotOverrides;
extern const TableSchema kArgumentOverrides;
extern const TableSchema kEnvironment;
extern const TableSchema kNotices;
extern const TableSchema kStatistics;
extern const TableSchema kLayers;
extern const TableSchema kContentIndex;
extern const TableSchema kAttributes;  ///< after the others, and not in the root digest

inline constexpr const char* kContentBytes = "/content/bytes";
inline constexpr std::array kGroups = {"/strings", "/arguments", "/content", "/content/bytes"};

}  // namespace schema

/// Calls `visit(schema, rows)` for every table in the order in which the root digest takes them;
/// `rows` is the vector that holds it.
template <class AnyTables, class Visit>
void for_each_table(AnyTables& tables, Visit&& visit) {
  visit(schema::kStringBytes, tables.strings.bytes);
  visit(schema::kStringOffsets, tables.strings.offsets);
  visit(schema::kArgumentBytes, tables.arguments.bytes);
  visit(schema::kArgumentOffsets, tables.arguments.offsets);
  visit(schema::kOps, tables.ops);
  visit(schema::kGeometries, tables.geometries);
  visit(schema::kDimensions, tables.dimensions);
  visit(schema::kLanes, tables.lanes);
  visit(schema::kTemplates, tables.templates);
  visit(schema::kTemplateEvents, tables.template_events);
  visit(schema::kTemplateSlots, tables.template_slots);
  visit(schema::kBlocks, tables.blocks);
  visit(schema::kDigests, tables.digests);
  visit(schema::kVariables, tables.variables);
  visit(schema::kEventOverrides, tables.event_overrides);
  visit(schema::kSlotOverrides, tables.slot_overrides);
  visit(schema::kArgumentOverrides, tables.argument_overrides);
  visit(schema::kEnvironment, tables.environment);
  visit(schema::kNotices, tables.notices);
  visit(schema::kStatistics, tables.statistics);
  visit(schema::kLayers, tables.layers);
  visit(schema::kContentIndex, tables.contents);
}

}  // namespace ulpscope::dump
