#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <vector>

/// What programs that run on several devices begin with and end with.
namespace device_test {

/// Numbers that do not depend on any generator of LibTorch, so that all devices get the same.
inline torch::Tensor numbers(const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  torch::Tensor tensor = torch::empty(shape);
  auto* const data = tensor.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    data[i] = static_cast<float>(static_cast<double>(seed >> 40) / (1 << 24) - 0.5) * 2;
  }
  return tensor;
}

/// Of all parameters.
inline std::uint64_t digest(const torch::nn::Module& net) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const torch::Tensor& parameter : net.parameters()) {
    const torch::Tensor here = parameter.detach().cpu().contiguous();
    const auto* const bytes = static_cast<const unsigned char*>(here.const_data_ptr());
    for (std::size_t i = 0; i < here.nbytes(); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  }
  return hash;
}

}  // namespace device_test
