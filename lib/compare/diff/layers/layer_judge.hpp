#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compare/diff/judgement.hpp"
#include "compare/diff/layers/layer_flow.hpp"
#include "compare/diff/rank_state.hpp"

namespace ulpscope::comparison {

/// Decides about events where only layers are recorded. A call of a module is the unit: what it
/// leaves follows from its inputs and parameters, its gradients from those and from the gradients
/// with respect to its outputs. What happens between modules is not seen: a value is blamed on it
/// only if everything recorded before is equal.
class LayerJudge {
 public:
  explicit LayerJudge(RankState& state) : state_(state), flow_(state.ledger.layers) {}

  [[nodiscard]] Judgement judge(const Scene& scene, EventPair at);

  /// A call that only `side` makes is the source of later differences if nothing else is known.
  void alone(const Source& source) { flow_.alone(source); }

 private:
  void judge_call();
  void judge_output(LayerCall& call, const SlotPair& slot);
  [[nodiscard]] Source why_input_differs(const SlotPair& slot);
  [[nodiscard]] Source blame_input(const SlotPair& slot);
  [[nodiscard]] Source blame_parameter(EventPair reader, const SlotPair& parameter);
  [[nodiscard]] Source blame_call(const LayerCall& call, const SlotPair& slot);

  void judge_module_gradient();
  void judge_gradient();
  [[nodiscard]] std::vector<EventPair> crossing() const;
  [[nodiscard]] Source why_gradient_differs(const SlotPair& slot);
  [[nodiscard]] Source blame_backward(const std::vector<EventPair>& readers, const SlotPair& slot);
  [[nodiscard]] std::optional<Source> why_backward(const LayerCall& call) const;
  void add_to_finding(const Source& source, const SlotPair& slot);

  void judge_parameters();
  void blame_modules(const std::vector<SlotPair>& buffers);
  void blame_optimizer(const std::vector<SlotPair>& parameters);
  [[nodiscard]] std::optional<Source> why_parameter_differs(const SlotPair& slot);
  void enter_parameters(const std::vector<SlotPair>& slots, const Source& source);

  /// A finding at ops that are not recorded: after `before` (words for a module), before this
  /// event.
  [[nodiscard]] Source blame_between(const SlotPair& slot, const std::string& before);

  void found();
  Source propagated(const Source& source);

  [[nodiscard]] const Event& event(Side side) const;
  [[nodiscard]] EventPair around(EventPair at) const;
  [[nodiscard]] EventPlace place_of(std::uint32_t reference_event) const;
  [[nodiscard]] EventPlace forward_of_event(std::uint32_t reference_event) const;
  LayerCall& ensure_call(std::uint32_t reference_event);
  /// Where a call's events are in the windows; this event if they are not in them.
  [[nodiscard]] EventPair events_of_call(const LayerCall& call) const;

  RankState& state_;
  LayerFlow& flow_;
  Scene scene_;
  EventPair at_;
  Judgement judgement_;
  std::vector<SlotPair> slots_;
};

/// "layer1.conv1", or the root's name for the root itself.
[[nodiscard]] std::string module_words(const Event& event);

}  // namespace ulpscope::comparison
