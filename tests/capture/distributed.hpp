#pragma once

#include <torch/torch.h>

#include <string>

#include "loopback_group.hpp"

/// Programs of several processes that exchange tensors.
namespace distributed {

/// One process: its rank, the group it exchanges tensors with, and what should go differently.
struct Rank {
  int rank = 0;
  int size = 1;
  loopback::Group group;
  std::string program;  ///< the name of what runs, which each printed line begins with

  /// PLANT=rank@step: that rank's tensor is multiplied by 1.0001 in that step.
  void perhaps_plant(const at::Tensor& tensor, int step) const;
  /// DELAYS="30,0,10": some of these milliseconds pass, others at each rank and call.
  void dawdle() const;
};

/// Whether that program relies on its collectives being executed in order.
[[nodiscard]] bool needs_order(const std::string& name);

/// Calls one collective in each of a few steps. False if there is none of this name.
[[nodiscard]] bool run_exchange(const Rank& rank);

/// Trains a model in one of the ways used with several processes. False if there is none.
[[nodiscard]] bool train(const Rank& rank);

}  // namespace distributed
