#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// A value of a dump under a name that users give: a path of the layer tree
/// ("steps/000003/forward/layer1.conv1/0/output.0"), or a slot of an event ("event:123/output.0";
/// "event:2:123/output.0" on lane 2, where that is not the main one).
struct StoredValue {
  std::uint32_t rank = 0;
  std::int64_t step = kSetup;
  std::string path;
  Digest digest;
  Geometry geometry;
  bool has_digest = true;
  bool in_row_major_order = false;  ///< its content, whatever the geometry says
};

/// All that the glob matches, by rank, then by path; one that is in two segments once.
/// @throws Error with ErrorCode::usage for an event without a number.
[[nodiscard]] std::vector<StoredValue> find_values(const Run& run, std::string_view glob);

/// Whether the text names values of an event.
[[nodiscard]] bool names_event(std::string_view text);

/// Lane and position in "event:123" or "event:2:123", from the text before a slash; without a lane,
/// the main one.
struct EventName {
  std::optional<std::uint32_t> lane;
  std::uint64_t position = 0;
};
/// @throws Error with ErrorCode::usage.
[[nodiscard]] EventName parse_event_name(std::string_view text);

/// Its elements in row-major order, expanded dimensions repeated; empty if the dump does not
/// have them.
[[nodiscard]] std::optional<std::vector<std::byte>> row_major_bytes(const Run& run,
                                                                    const StoredValue& value);

}  // namespace ulpscope::cli
