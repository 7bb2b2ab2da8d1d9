#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "compare/side.hpp"
#include "core/forwarded_run.hpp"

namespace ulpscope::comparison {

/// A run with what its main lane did in backward as a lane of its own, of role autograd, in some of
/// its ranks. Autograd works through a graph of the CPU in the thread that asks for it, and through
/// one of a GPU in a thread of the device. Positions stay what they are in the main lane.
class BackwardLaneRun : public ForwardedRun {
 public:
  /// Reads all events of one of these ranks when it is first asked for. `run` must outlive it.
  BackwardLaneRun(const Run& run, const std::vector<std::uint32_t>& ranks);

  [[nodiscard]] std::vector<Lane> lanes(std::uint32_t rank) const override;
  [[nodiscard]] std::size_t block_count(std::uint32_t rank, std::uint32_t lane) const override;
  [[nodiscard]] Block block(std::uint32_t rank, std::uint32_t lane,
                            std::size_t index) const override;

 private:
  /// The two parts of a rank's main lane.
  struct Parts {
    std::uint32_t main = 0;
    Lane backward;
    /// Positions of backward events, [begin, end) after [begin, end).
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;

    [[nodiscard]] bool in_backward(std::uint64_t position) const;
    /// Where the event at that place is now.
    [[nodiscard]] std::uint32_t lane_of(std::uint32_t lane, std::uint64_t position) const;
  };

  [[nodiscard]] const Parts* parts(std::uint32_t rank) const;
  [[nodiscard]] std::optional<Parts> read_parts(std::uint32_t rank) const;

  std::vector<std::uint32_t> ranks_;
  mutable std::mutex mutex_;                                     ///< of parts_
  mutable std::map<std::uint32_t, std::optional<Parts>> parts_;  ///< by rank; empty: one lane
};

/// The ranks of each run whose backward has to be taken apart, because the run's partner has it in
/// threads of its own.
[[nodiscard]] Both<std::vector<std::uint32_t>> ranks_with_backward_inside(
    const Both<const Run*>& runs, const std::vector<Both<std::uint32_t>>& pairs);

}  // namespace ulpscope::comparison
