#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/argument_writer.hpp"
#include "replay/replay_process.hpp"

/// Calls of ops that are requested from the program that replays ops.
namespace ulpscope::test {

using Vector = std::vector<double>;
using Sizes = std::vector<std::int64_t>;

inline Sizes row_major(const Sizes& sizes) {
  Sizes strides(sizes.size(), 1);
  for (std::size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  return strides;
}

template <class T>
std::vector<std::byte> bytes_of(const Vector& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(T));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const T number = static_cast<T>(numbers[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &number, sizeof(T));
  }
  return bytes;
}

inline Vector numbers_of(const ReplayTensor& tensor) {
  Vector numbers;
  const auto read = [&]<class T>(T number) {
    for (std::size_t at = 0; at + sizeof(T) <= tensor.bytes.size(); at += sizeof(T)) {
      std::memcpy(&number, tensor.bytes.data() + at, sizeof(T));
      numbers.push_back(static_cast<double>(number));
    }
  };
  if (tensor.dtype == Dtype::float64) read(0.0);
  if (tensor.dtype == Dtype::float32) read(0.0F);
  if (tensor.dtype == Dtype::int64) read(std::int64_t{0});
  return numbers;
}

/// A call of an op, argument by argument.
class Call {
 public:
  explicit Call(std::string op, std::string overload = {}) {
    request_.op = std::move(op);
    request_.overload = std::move(overload);
  }

  Call& tensor(std::uint16_t index, const Sizes& sizes, const Vector& numbers,
               std::uint16_t element = 0) {
    return strided(index, sizes, row_major(sizes), numbers, element);
  }
  Call& strided(std::uint16_t index, const Sizes& sizes, const Sizes& strides,
                const Vector& numbers, std::uint16_t element = 0) {
    ReplayTensor& tensor = request_.inputs.emplace_back();
    tensor.index = index;
    tensor.element = element;
    tensor.dtype = Dtype::float32;
    tensor.sizes = sizes;
    tensor.strides = strides;
    tensor.bytes = bytes_of<float>(numbers);
    return *this;
  }
  Call& indices(std::uint16_t index, const Vector& numbers, std::uint16_t element = 0) {
    tensor(index, {static_cast<std::int64_t>(numbers.size())}, numbers, element);
    request_.inputs.back().dtype = Dtype::int64;
    request_.inputs.back().bytes = bytes_of<std::int64_t>(numbers);
    return *this;
  }
  Call& none(std::uint16_t index, std::uint16_t element = 0) {
    ReplayTensor& tensor = request_.inputs.emplace_back();
    tensor.index = index;
    tensor.element = element;
    tensor.defined = false;
    return *this;
  }
  template <class Write>
  Call& argument(Write write) {
    std::array<std::byte, 1024> buffer;
    ArgumentWriter writer(buffer);
    write(writer);
    request_.arguments.insert(request_.arguments.end(), writer.bytes().begin(),
                              writer.bytes().end());
    return *this;
  }

  ReplayAnswer answer(Precision precision = Precision::float64, Role role = Role::output,
                      std::uint16_t index = 0, std::uint16_t element = 0) {
    static replay::ReplayProcess process(REPLAY_PROGRAM,
                                         {.environment = {}, .libraries = {PROGRAM_OPS}});
    request_.precision = precision;
    ReplayTensor wanted;
    wanted.role = role;
    wanted.index = index;
    wanted.element = element;
    request_.wanted = {wanted};
    return process.replay(request_);
  }
  Vector result(Precision precision = Precision::float64, Role role = Role::output,
                std::uint16_t index = 0, std::uint16_t element = 0) {
    const ReplayAnswer got = answer(precision, role, index, element);
    CHECK(got.failure == "");
    return got.results.empty() ? Vector() : numbers_of(got.results[0]);
  }

  ReplayRequest request_;
};

inline const auto kNumber = [](std::uint16_t index, double value) {
  return [=](ArgumentWriter& writer) { writer.number(index, value); };
};
inline const auto kInteger = [](std::uint16_t index, std::int64_t value) {
  return [=](ArgumentWriter& writer) { writer.integer(index, value); };
};

}  // namespace ulpscope::test
