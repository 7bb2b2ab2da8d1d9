#pragma once

#include <vector>

#include "compare/diff/describe.hpp"
#include "compare/diff/judgement.hpp"
#include "compare/diff/rank_state.hpp"

namespace ulpscope::comparison {

/// True for what crosses a module's boundary and for current parameters.
[[nodiscard]] constexpr bool is_boundary(EventKind kind) noexcept {
  return kind == EventKind::module || kind == EventKind::module_output ||
         kind == EventKind::module_gradient || kind == EventKind::parameters;
}

/// Pairs the tensors of two boundary events: parameters by their names, others by role and index.
/// A tensor that only one run shows is left out: which values a module's call is seen to read
/// depends on how the program was compiled.
void compare_boundary_slots(const Event& reference, const Event& candidate,
                            std::vector<SlotPair>& slots);

/// Compares the boundaries of modules where ops are recorded too. Their values are those of ops, so
/// they prove equality and show which findings have an effect. A difference is blamed on a boundary
/// only if no op has explained it by the end of the step.
class BoundaryJudge {
 public:
  explicit BoundaryJudge(RankState& state) : state_(state) {}

  [[nodiscard]] Judgement judge(const Scene& scene, EventPair at);
  /// An op was compared: it may explain pending differences.
  void op_passed();
  /// Enters findings for what nothing has explained.
  void end_step();

 private:
  /// A value that differs for no known reason, and the finding that waits for it.
  struct Waiting {
    Source source;
    Slot reference;
    Slot candidate;
    Both<Geometry> geometry;
    ValueNames names;
    std::int64_t step = kSetup;
  };
  [[nodiscard]] bool explained(Waiting& waiting);
  void wait(const Scene& scene, EventPair at, const SlotPair& slot);
  void name_otherwise(const Scene& scene, EventPair at, const std::vector<SlotPair>& parameters,
                      Judgement& judgement);

  RankState& state_;
  std::vector<SlotPair> slots_;
  std::vector<Waiting> waiting_;
};

}  // namespace ulpscope::comparison
