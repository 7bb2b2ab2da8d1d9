#pragma once

#include <string>

/// Ops that LibTorch uses on a GPU in place of the CPU's, with kernels for the CPU: batch norm,
/// convolutions and recurrent nets of cuDNN, memory-efficient attention, fused cells, and a log
/// sigmoid that saves nothing. A program that registers them calls ops, and has autograd nodes, as
/// on a GPU, and its results differ from the CPU's only by rounding.
namespace gpu_ops {

/// @param wrong one of these ops, whose result (of a backward: the first gradient) is then larger
/// by a hundredth; or empty.
void register_all(const std::string& wrong);

}  // namespace gpu_ops
