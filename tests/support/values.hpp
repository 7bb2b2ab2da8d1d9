#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "ulpscope/run.hpp"

/// The tensors of a run without a dump, and what they hold.
namespace ulpscope::test {

/// The numbers of a new tensor and its shape; row-major.
struct Values {
  Values(std::initializer_list<double> list);
  explicit Values(std::vector<double> list);
  Values(std::vector<std::int64_t> sizes, std::vector<double> list);
  // Not inline: tests copy and drop so many that compiling them would take longer.
  Values(const Values&);
  Values(Values&&) noexcept;
  Values& operator=(const Values&);
  Values& operator=(Values&&) noexcept;
  ~Values();

  [[nodiscard]] Values as(Dtype type) const;

  std::vector<double> numbers;
  std::vector<std::int64_t> shape;
  Dtype dtype = Dtype::float32;
};

/// `count` numbers that depend only on `label`.
[[nodiscard]] Values labelled(std::string_view label, std::size_t count = 4);

/// A tensor of the program: a view of a storage.
struct Tensor {
  std::uint64_t storage = kNone;
  Geometry geometry;
};

namespace detail {

/// The strides of a row-major tensor.
[[nodiscard]] std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& sizes);

/// The numbers in sequence, each in the values' dtype.
[[nodiscard]] std::vector<std::byte> bytes_of(const Values& values);

}  // namespace detail

}  // namespace ulpscope::test
