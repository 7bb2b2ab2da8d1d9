#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "compare/model/lane_reader.hpp"

namespace ulpscope::comparison {

using Keys = std::vector<std::uint64_t>;  ///< of digests, ascending

/// Some of the values of a step, chosen by their content, so that equal steps keep the same ones.
struct StepSketch {
  static constexpr std::size_t kKept = 64;  ///< of each kind, the smallest

  std::int64_t step = kSetup;
  Keys data;  ///< from outside of the model
  Keys made;
  Keys read;                               ///< by forward, and made by none of the step's ops
  Keys parameters;                         ///< as they were read
  std::uint64_t beginning = 0;             ///< the names of its first ops
  std::vector<std::uint64_t> forward_ops;  ///< the name of each op that no other op calls, in order
  std::vector<std::uint64_t> calls;        ///< of the program that ran these ops, in order
  Keys all_calls;                          ///< that ran any op
  std::size_t backward_passes = 0;         ///< events of backward in a row
};
using Sketches = std::vector<StepSketch>;

/// Where a program's training begins in a lane: what ops of the lane write from there on, in steps
/// before the one that reads it, is carried over by the program and no data.
struct TrainingBegin {
  std::uint32_t lane = 0;
  std::uint64_t position = kNone;
};

[[nodiscard]] StepSketch sketch(const std::vector<HeldEvent>& events,
                                const TrainingBegin& training = {});

/// All that the events have made is equal, one by one. Steps that need no sketches are mostly so.
[[nodiscard]] bool made_the_same(const std::vector<HeldEvent>& a, const std::vector<HeldEvent>& b);

/// Both kinds of values that the model gets.
[[nodiscard]] Keys outside_data(const StepSketch& step);

[[nodiscard]] Keys common(const Keys& a, const Keys& b);
[[nodiscard]] std::size_t shared(const Keys& a, const Keys& b);
[[nodiscard]] bool mostly_shared(const Keys& a, const Keys& b);
[[nodiscard]] bool same_data(const StepSketch& a, const StepSketch& b);

/// The next steps of a lane, each sketched once however often they are used.
class StepsAhead {
 public:
  /// Those from the step on that `reader` is about to read. Valid until the next call.
  const std::deque<StepSketch>& from(const LaneReader& reader, const TrainingBegin& training);

 private:
  std::optional<LaneReader> reader_;  ///< after the last of them
  std::deque<StepSketch> sketches_;
};

}  // namespace ulpscope::comparison
