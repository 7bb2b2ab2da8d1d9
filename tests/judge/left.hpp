#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

namespace judge {

/// FNV-1a over what a program leaves. Tensors are read through their pointers, so that nothing here
/// is an op, and in logical order, so that strides do not count.
class Left {
 public:
  void add(const void* data, std::size_t bytes);
  void add(double number) { add(&number, sizeof number); }
  void add(std::int64_t number) { add(&number, sizeof number); }

  void add(const at::Tensor& tensor);

  /// Engine and cached normals.
  void add(const at::Generator& generator);

  [[nodiscard]] std::string text() const;

  /// A generator that nothing has drawn from is not left.
  static bool has_drawn(const at::Generator& generator);

 private:
  std::uint64_t digest_ = 0xcbf29ce484222325;
};

/// What tensors hold, as a set: for each the digest of its memory, ':', and that of its numbers.
/// Which of several handles to memory are held does not count, nor what no handle reaches.
class Contents {
 public:
  void add(const at::Tensor& tensor);

  /// The digest of what is not in `others`.
  [[nodiscard]] std::string text_without(const Contents& others) const;
  /// All of them, as a JSON array.
  [[nodiscard]] std::string list() const;

 private:
  std::set<std::string> digests_;
};

}  // namespace judge
