#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dump/rank_origin.hpp"
#include "dump/run_id.hpp"

namespace ulpscope::dump {

/// What a segment says about itself: in its root attributes for people, in /attributes for readers.
struct SegmentAttributes {
  std::string creator;
  std::string level;
  std::string command;     ///< a JSON list
  std::uint32_t rank = 0;  ///< when it was published: the name of its folder counts
  std::uint32_t pid = 0;
  std::uint32_t segment = 0;
  RunId run;        ///< of all segments of one recording, and of its status.json
  Digest previous;  ///< the seal of the rank's segment before this one; of the first: zeros
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::uint64_t steps = 0;  ///< started in the run so far
  std::uint64_t events = 0;
  std::uint64_t values = 0;
  std::uint32_t oldest_segment = 0;   ///< the first one that belongs to the dump
  std::int64_t first_kept_step = -1;  ///< steps before it do not; -1: all do
  bool finished = false;              ///< the recording's last segment
  std::string incomplete_reason;      ///< why the recording ended early; empty if it did not
  RankOrigin origin;
};

/// The bytes of /attributes.
[[nodiscard]] std::vector<std::byte> encode(const SegmentAttributes& attributes);
/// Empty if the bytes are not what encode() makes.
[[nodiscard]] std::optional<SegmentAttributes> decode_attributes(std::span<const std::byte> bytes);

}  // namespace ulpscope::dump
