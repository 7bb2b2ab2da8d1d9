#pragma once

#include <cstdint>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Follows a lane's events in their order and says which run inside an op.
class Nesting {
 public:
  /// @return whether an op encloses `event`, the lane's next one.
  bool enter(const Event& event) {
    while (!open_.empty() && open_.back().position != event.parent) open_.pop_back();
    const bool inside = !open_.empty() && open_.back().in_op;
    open_.push_back({event.position, inside || event.kind == EventKind::op});
    return inside;
  }

 private:
  struct Open {
    std::uint64_t position;
    bool in_op;
  };
  std::vector<Open> open_;
};

}  // namespace ulpscope::comparison
