#pragma once

#include <ATen/core/Tensor.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

/// Memory of tensors, read and written as a program does it with pointers of its own.
namespace judge {

/// An instruction finds nothing that it could act on.
class Nothing : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The element of a float32 tensor that comes `number`-th in logical order, round and round.
inline float* element(const at::Tensor& tensor, std::int64_t number) {
  if (!tensor.defined() || tensor.scalar_type() != at::kFloat || tensor.numel() == 0)
    throw Nothing("no float32 elements");
  std::int64_t left = number % tensor.numel(), offset = 0;
  for (std::int64_t d = tensor.dim(); d-- > 0;) {
    offset += left % tensor.size(d) * tensor.stride(d);
    left /= tensor.size(d);
  }
  return tensor.data_ptr<float>() + offset;
}

/// By `count` representable values, down where it is negative.
inline void move_by_ulp(float* number, int count) {
  const float limit =
      count < 0 ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  for (int i = 0; i < std::abs(count); ++i) *number = std::nextafter(*number, limit);
}

}  // namespace judge
