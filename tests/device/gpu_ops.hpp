#pragma once

#include <string>

/// Ops that LibTorch uses on a GPU in the place of the CPU's, with kernels for the CPU: batch norm
/// and recurrent nets of cuDNN, memory-efficient attention. A program that registers them calls
/// ops, and has autograd nodes, as on a GPU, and its results differ from the CPU's by rounding
/// alone.
namespace gpu_ops {

/// @param wrong one of kOps, whose results (of a backward: the first gradient) are then larger by a
/// hundredth; or empty.
void register_all(const std::string& wrong);

inline constexpr const char* kOps[] = {"cudnn_batch_norm",
                                       "cudnn_batch_norm_backward",
                                       "_scaled_dot_product_efficient_attention",
                                       "_scaled_dot_product_efficient_attention_backward",
                                       "_cudnn_rnn",
                                       "_cudnn_rnn_backward"};

}  // namespace gpu_ops
