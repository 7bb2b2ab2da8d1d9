#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "compare/model/side.hpp"
#include "core/forwarded_run.hpp"

namespace ulpscope::comparison {

/// A run whose main lane's backward is a separate lane of role autograd, in some of its ranks.
/// Autograd executes the graph of a CPU program in the calling thread, and that of a GPU program in
/// a device thread. Positions stay those of the main lane.
class BackwardLaneRun : public ForwardedRun {
 public:
  /// Reads all events of one of these ranks when it is first requested. `run` must outlive it.
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

/// The ranks of each run whose backward must be separated, because the run's partner has it in
/// separate threads.
[[nodiscard]] Both<std::vector<std::uint32_t>> ranks_with_backward_inside(
    const Both<const Run*>& runs, const std::vector<Both<std::uint32_t>>& pairs);

}  // namespace ulpscope::comparison
