#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace judge {

/// FNV-1a over what a program leaves. Tensors are read through their pointers, so that nothing here
/// is an op, and in logical order, so that strides do not count.
class Left {
 public:
  void add(const void* data, std::size_t bytes);
  void add(double number) { add(&number, sizeof number); }
  void add(std::int64_t number) { add(&number, sizeof number); }

  /// The tensor and the gradient that it holds.
  void add(const at::Tensor& tensor);
  void add_without_gradient(const at::Tensor& tensor);

  /// Engine and cached normals.
  void add(const at::Generator& generator);

  [[nodiscard]] std::string text() const;

 private:
  std::uint64_t digest_ = 0xcbf29ce484222325;
};

}  // namespace judge
