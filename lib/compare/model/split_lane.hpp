#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/forwarded_run.hpp"

namespace ulpscope::comparison {

/// Positions of events, ascending, [begin, end) after [begin, end).
using PositionRanges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

[[nodiscard]] bool contains(const PositionRanges& ranges, std::uint64_t position);

/// Events of a rank's main lane that are taken for a separate lane.
struct LanePart {
  std::uint32_t main = 0;
  Lane lane;  ///< its id is one that the rank does not have
  PositionRanges ranges;
};

[[nodiscard]] std::optional<Lane> main_lane(const std::vector<Lane>& lanes);

/// Of `run`'s main lane in that rank, with a new lane's id and the main one's thread name.
[[nodiscard]] LanePart part_of_main(const Run& run, std::uint32_t rank, const Lane& main,
                                    LaneRole role);

/// A run with a part of its ranks' main lanes in separate lanes. Positions stay those of the main
/// lane.
class SplitLaneRun : public ForwardedRun {
 public:
  /// The part of a rank's main lane; empty: it stays one lane. Called when the rank is first
  /// requested, from any thread.
  using PartOf = std::function<std::optional<LanePart>(std::uint32_t rank)>;

  /// `run` must outlive it.
  SplitLaneRun(const Run& run, PartOf part_of) : ForwardedRun(run), part_of_(std::move(part_of)) {}

  [[nodiscard]] std::vector<Lane> lanes(std::uint32_t rank) const override;
  [[nodiscard]] std::size_t block_count(std::uint32_t rank, std::uint32_t lane) const override;
  [[nodiscard]] Block block(std::uint32_t rank, std::uint32_t lane,
                            std::size_t index) const override;

 private:
  [[nodiscard]] const LanePart* part(std::uint32_t rank) const;

  PartOf part_of_;
  mutable std::mutex mutex_;                                        ///< of parts_
  mutable std::map<std::uint32_t, std::optional<LanePart>> parts_;  ///< by rank
};

}  // namespace ulpscope::comparison
