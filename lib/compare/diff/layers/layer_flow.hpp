#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "compare/align/op_comparison.hpp"
#include "compare/diff/layers/layer_calls.hpp"
#include "compare/diff/layers/parameter_flow.hpp"
#include "compare/diff/source.hpp"

namespace ulpscope::comparison {

/// How differences reach from layer to layer where ops are not recorded: which values, calls,
/// parameters and gradients are known to differ, and why.
class LayerFlow {
 public:
  /// Forgets the values and calls of steps before the last one.
  void begin_step();

  LayerCalls calls;
  ParameterFlow parameters;

  /// These two values are known to differ from now on.
  void differs(const SlotPair& slot, const Source& source);
  void gradient_differs(const std::string& root, const std::string& name, const Source& source);
  [[nodiscard]] std::optional<Source> why(const SlotPair& slot) const;
  /// Why the last value that differed in this step did, the gradients of parameters among them.
  [[nodiscard]] const std::optional<Source>& latest() const noexcept { return latest_; }
  /// The same of values that others can follow from in this step.
  [[nodiscard]] const std::optional<Source>& latest_value() const noexcept { return latest_value_; }

  /// Calls that only one run makes, in this step.
  void alone(const Source& source) { alone_ = source; }
  [[nodiscard]] const std::optional<Source>& alone() const noexcept { return alone_; }

  /// The module whose call or gradient was compared last in this step, in words.
  std::string last_module;

 private:
  using Values = std::map<std::pair<Digest, Digest>, Source>;

  Values values_;
  Values values_before_;
  std::optional<Source> latest_;
  std::optional<Source> latest_value_;
  std::optional<Source> alone_;
};

}  // namespace ulpscope::comparison
