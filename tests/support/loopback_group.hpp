#pragma once

#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

/// Processes on one machine that exchange tensors through Gloo.
namespace loopback {

struct Group {
  c10::intrusive_ptr<c10d::Backend> backend;
  c10::intrusive_ptr<c10d::ProcessGroup> group;
};

/// `file` is where the processes find each other. A backend of one thread executes requests in
/// order.
[[nodiscard]] Group make_group(const std::string& file, int rank, int size, int threads = 2);

}  // namespace loopback
