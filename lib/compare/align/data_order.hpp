#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "compare/model/lane_reader.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// What follows from what in a rank, as far as outermost ops read what others wrote: whichever
/// thread comes when, the one waits for the other.
class DataOrder {
 public:
  /// Knows nothing of a rank with millions of events.
  DataOrder(const Run& run, std::uint32_t rank);

  /// What the op at `later` reads follows from the one at `earlier`. False where that is far back.
  [[nodiscard]] bool follows(EventPlace later, EventPlace earlier) const;

  /// The next op of its lane that reads what follows from the op at `place` alone together with
  /// what does not; kNone if there is none near.
  [[nodiscard]] EventPlace meets_others(EventPlace place) const;

 private:
  struct Op {
    std::uint64_t position = 0;
    std::uint64_t last = 0;         ///< position of the last event inside
    std::vector<EventPlace> reads;  ///< what wrote that, each once
  };
  using Ops = std::vector<Op>;

  /// Returns how many reads that is.
  static std::size_t add_reads(const Event& event, std::uint32_t lane, Op& op);
  [[nodiscard]] static Ops::const_iterator find(const Ops& ops, std::uint64_t position);
  [[nodiscard]] const Op* find(EventPlace place) const;

  std::map<std::uint32_t, Ops> ops_;  ///< by lane
};

}  // namespace ulpscope::comparison
