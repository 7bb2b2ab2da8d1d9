#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dump/layout.hpp"
#include "dump/recording.hpp"

namespace ulpscope::dump {

class Segment;

/// What a segment says of its place in a dump.
struct SegmentMark {
  std::uint32_t file = 0;    ///< the number in its file's name
  std::uint32_t number = 0;  ///< the one that it was published with
  std::uint32_t oldest_segment = 0;
  RunId run;
  Digest seal;
  Digest previous;
};
[[nodiscard]] SegmentMark mark_of(const Segment& segment, std::uint32_t file);

struct RankMarks {
  RankFiles files;
  std::vector<SegmentMark> segments;  ///< those that could be read, ascending

  /// The rank's last segment; null if there is none or it could not be read.
  [[nodiscard]] const SegmentMark* last() const noexcept;
};
/// Passes over segments that are damaged.
[[nodiscard]] RankMarks read_marks(const RankFiles& files);

/// What files of a dump say of each other, in sentences.
struct WholeDump {
  std::vector<std::string> missing;  ///< files that were there
  std::vector<std::string> foreign;  ///< files of a different run or place, or changed since
};

/// Compares what segments, journals and status.json say about the run, the previous segment and the
/// last one. Less is known about a recording that was killed: the existing files must be
/// consistent.
/// @param status without the ranks that are not among `ranks` because they were not selected
[[nodiscard]] WholeDump check_whole(std::span<const RankMarks> ranks,
                                    const std::optional<Status>& status);

}  // namespace ulpscope::dump
