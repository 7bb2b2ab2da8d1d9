#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "ulpscope/run.hpp"
#include "writer/digest_steps.hpp"
#include "writer/written.hpp"

namespace ulpscope::writer {

/// The digests of some ranks of a finished run around the step that another run is in. What none of
/// these steps has is where the runs may differ; whether they do, only a comparison tells: memory
/// that nothing wrote and ops that one run alone has make such values too. A difference that makes
/// no new value is not seen.
class ReferenceValues {
 public:
  static constexpr std::size_t kMostValues = std::size_t{1} << 22;

  /// `run` must outlive it. Of a step with more than `most_values` it is assumed that it has every
  /// value.
  ReferenceValues(const Run& run, const std::vector<std::uint32_t>& ranks,
                  std::size_t most_values = kMostValues);

  /// True if an event among the messages has a value that the reference does not have near the
  /// steps in which they came, or near those of other lanes that were looked up here. Past the
  /// reference's last step nothing is known.
  [[nodiscard]] bool lack_one_of(const Written& written);

 private:
  struct LanePlace {
    std::uint32_t rank = 0;
    std::uint32_t lane = 0;
    std::size_t next = 0;  ///< the first block that was not read
    std::size_t count = 0;
  };

  void move_to(const Written& written);
  void move_up_to(std::uint64_t position);
  void read_until(std::int64_t step);
  void add(const Block& block);
  [[nodiscard]] std::size_t held() const;

  const Run& run_;
  std::size_t most_values_;
  std::vector<LanePlace> lanes_;
  DigestSteps digests_;
  /// By process and trainer: the newest step that had begun.
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::int64_t> begun_;
  std::map<std::int64_t, std::size_t> values_;  ///< by step: how many are held, of those near
  std::int64_t last_step_ = kSetup;
  std::int64_t read_ = kSetup - 1;   ///< the last step that was read
  std::uint64_t read_position_ = 0;  ///< of its last event, in the lane that has most
};

/// The ranks of a finished run that a process of another one may be compared with. One, if a
/// variable declares which; else its partner is known only when both have ended.
[[nodiscard]] std::vector<std::uint32_t> possible_partners(const Run& run,
                                                           const RankIdentity& identity);

}  // namespace ulpscope::writer
