#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "compare/align/lane_walk.hpp"
#include "compare/diff/finding_book.hpp"
#include "compare/diff/judgement.hpp"

namespace ulpscope::comparison {

/// Watches whether ops that only one run has change anything: a one-sided op is harmless while
/// every value that both runs have after it, up to the next anchor, is equal or differs for a
/// reason that came up after it. Anchors are module boundaries, gradients and writes of parameters;
/// without one ahead, the next eight ops count.
class SequenceWatch {
 public:
  /// `source` is just before the entries from `next` on.
  /// @param compute_nothing its ops do not: only what reads their memory follows from them.
  void add(const Source& source, const LaneWalk& walk, std::size_t next,
           bool compute_nothing = false);

  /// An aligned entry was compared. Calls `tell` for what turns out to diverge.
  void passed(FindingBook& book, bool op, bool anchor, const Judgement& judgement,
              const std::function<void(Record&)>& tell = {});

  void end_step() { watched_.clear(); }

 private:
  struct Watched {
    Source source;
    bool compute_nothing = false;
    bool anchor_ahead = false;
    std::uint32_t ops_left = 8;
    std::uint64_t compared = 0;
  };
  std::vector<Watched> watched_;
};

/// True for a module boundary, a gradient or the write of a parameter.
[[nodiscard]] bool is_anchor(const Event& event);

}  // namespace ulpscope::comparison
