#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "ulpscope/run.hpp"
#include "writer/digest_steps.hpp"

namespace ulpscope::writer {

/// The newest step that had begun for certain before and after messages came.
struct BegunSteps {
  std::int64_t before = kSetup;
  std::int64_t after = kSetup;
};

/// The digests of a finished run around the step that another run is in. What none of these steps
/// has is where the runs may differ; whether they do, only a comparison tells: memory that nothing
/// wrote and ops that one run alone has make such values too. A difference that makes no new value
/// is not seen.
class ReferenceValues {
 public:
  /// `run` must outlive it. Of a step with more than `most_values` it is assumed that it has every
  /// value.
  explicit ReferenceValues(const Run& run, std::size_t most_values = std::size_t{1} << 22);

  /// True if an event among the messages has a value that the reference does not have near the
  /// steps in which they came. Past the reference's last step nothing is known.
  [[nodiscard]] bool lack_one_of(const BegunSteps& steps, std::span<const std::byte> messages);

 private:
  struct LanePlace {
    std::uint32_t rank = 0;
    std::uint32_t lane = 0;
    std::size_t next = 0;  ///< the first block that was not read
    std::size_t count = 0;
  };

  void move_to(const BegunSteps& steps);
  void move_up_to(std::uint64_t position);
  void read_until(std::int64_t step);
  void add(const Block& block);
  [[nodiscard]] std::size_t held() const;

  const Run& run_;
  std::size_t most_values_;
  std::vector<LanePlace> lanes_;
  DigestSteps digests_;
  std::map<std::int64_t, std::size_t> values_;  ///< by step: how many are held, of those near
  std::int64_t last_step_ = kSetup;
  std::int64_t read_ = kSetup - 1;   ///< the last step that was read
  std::uint64_t read_position_ = 0;  ///< of its last event, in the lane that has most
};

}  // namespace ulpscope::writer
