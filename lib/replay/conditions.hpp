#pragma once

#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include <optional>

#include "ulpscope/replay.hpp"

namespace ulpscope::replay {

/// Puts LibTorch into the state that a request names; grad mode, inference mode and autocast last
/// as long as this object, the others until the next one.
class Conditions {
 public:
  explicit Conditions(const ReplayConditions& wanted);
  Conditions(const Conditions&) = delete;
  Conditions& operator=(const Conditions&) = delete;
  ~Conditions();

 private:
  c10::AutoGradMode grad_mode_;
  std::optional<c10::InferenceMode> inference_mode_;
};

}  // namespace ulpscope::replay
