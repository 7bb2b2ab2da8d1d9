#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/argument_writer.hpp"
#include "replay/replay_process.hpp"

using namespace ulpscope;

namespace {

using Vector = std::vector<double>;
using Sizes = std::vector<std::int64_t>;

Sizes row_major(const Sizes& sizes) {
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

Vector numbers_of(const ReplayTensor& tensor) {
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
    static replay::ReplayProcess process(REPLAY_PROGRAM);
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

const auto kNumber = [](std::uint16_t index, double value) {
  return [=](ArgumentWriter& writer) { writer.number(index, value); };
};
const auto kInteger = [](std::uint16_t index, std::int64_t value) {
  return [=](ArgumentWriter& writer) { writer.integer(index, value); };
};

}  // namespace

TEST_SUITE("replay ops") {
  TEST_CASE("float64 keeps what float32 rounds away") {
    Call sum("aten::add", "Tensor");
    sum.tensor(0, {2}, {1, 1}).tensor(1, {2}, {0x1p-30, 2}).argument(kInteger(2, 1));
    CHECK(sum.result(Precision::float64) == Vector{1 + 0x1p-30, 3});
    CHECK(sum.result(Precision::recorded) == Vector{1, 3});
    CHECK(sum.answer(Precision::recorded).results[0].dtype == Dtype::float32);
  }

  TEST_CASE("scalars that were recorded are those of the call") {
    Call sum("aten::add", "Tensor");
    sum.tensor(0, {1}, {1}).tensor(1, {1}, {2}).argument(kNumber(2, 0.5));
    CHECK(sum.result() == Vector{2});
  }

  TEST_CASE("what was not recorded has the schema's default") {
    Call product("aten::addmm");
    product.tensor(0, {2}, {10, 20}).tensor(1, {1, 2}, {1, 2}).tensor(2, {2, 2}, {1, 2, 3, 4});
    CHECK(product.result() == Vector{17, 30});
  }

  TEST_CASE("strides give transposed and expanded operands") {
    Call product("aten::mm");
    product.strided(0, {2, 2}, {1, 2}, {1, 2, 3, 4}).strided(1, {2, 2}, {0, 1}, {1, 10});
    CHECK(product.result() == Vector{4, 40, 6, 60});
  }

  TEST_CASE("results come in row-major order") {
    Call product("aten::relu");
    product.strided(0, {2, 2}, {1, 2}, {1, 2, 3, 4});
    CHECK(product.result() == Vector{1, 3, 2, 4});
  }

  TEST_CASE("an argument that is written is read back") {
    Call scaled("aten::mul_", "Scalar");
    scaled.tensor(0, {2}, {1, 2}).argument(kNumber(1, 3));
    CHECK(scaled.result(Precision::recorded, Role::mutated, 0) == Vector{3, 6});
  }

  TEST_CASE("lists of tensors keep their order") {
    Call joined("aten::cat");
    joined.tensor(0, {1}, {2}, 1).tensor(0, {1}, {1}, 0).argument(kInteger(1, 0));
    CHECK(joined.result(Precision::recorded) == Vector{1, 2});
  }

  TEST_CASE("lists may have holes") {
    Call picked("aten::index", "Tensor");
    picked.tensor(0, {2, 2}, {1, 2, 3, 4}).none(1, 0).indices(1, {1, 0}, 1);
    CHECK(picked.result(Precision::recorded) == Vector{2, 1, 4, 3});
  }

  TEST_CASE("optional tensors may be missing, masks and lists are given") {
    Call gradients("aten::convolution_backward");
    const auto list = [](std::uint16_t index, std::vector<std::int64_t> values) {
      return [=](ArgumentWriter& writer) { writer.int_list(index, values); };
    };
    gradients.tensor(0, {1, 1, 1, 2}, {1, 2})
        .tensor(1, {1, 1, 1, 2}, {3, 4})
        .tensor(2, {1, 1, 1, 1}, {5})
        .argument([](ArgumentWriter& writer) { writer.none(3); })
        .argument(list(4, {1, 1}))
        .argument(list(5, {0, 0}))
        .argument(list(6, {1, 1}))
        .argument([](ArgumentWriter& writer) { writer.boolean(7, false); })
        .argument(list(8, {0, 0}))
        .argument(kInteger(9, 1))
        .argument([](ArgumentWriter& writer) {
          writer.bool_list(10, 3, [](std::size_t i) { return i < 2; });
        });
    CHECK(gradients.result(Precision::float64, Role::output, 0) == Vector{5, 10});
    CHECK(gradients.result(Precision::float64, Role::output, 1) == Vector{11});
  }

  TEST_CASE("a dtype that was asked for is float64 too") {
    Call soft("aten::softmax", "int");
    soft.tensor(0, {2}, {0, std::log(3.0)})
        .argument(kInteger(1, 0))
        .argument([](ArgumentWriter& writer) { writer.dtype(2, Dtype::float32); });
    CHECK(soft.answer().results.at(0).dtype == Dtype::float64);
    CHECK(soft.answer(Precision::recorded).results.at(0).dtype == Dtype::float32);
  }

  TEST_CASE("what LibTorch refuses is a failure in its words") {
    Call product("aten::mm");
    product.tensor(0, {1, 2}, {1, 2}).tensor(1, {3, 1}, {1, 2, 3});
    CHECK(product.answer().failure.find("mat1 and mat2 shapes cannot be multiplied") !=
          std::string::npos);
    CHECK(Call("aten::no_such_op").answer().failure == "LibTorch has no such op");
  }

  TEST_CASE("a request that does not add up is refused") {
    Call beyond("aten::relu");
    beyond.strided(0, {2, 2}, {2, 1}, {1, 2, 3});
    CHECK(beyond.answer().failure == "a tensor has not as many bytes as elements");
    Call huge("aten::relu");
    huge.strided(0, {std::int64_t{1} << 62, 4}, {4, 1}, {1});
    CHECK(huge.answer().failure == "a tensor is larger than memory");
    Call negative("aten::relu");
    negative.strided(0, {-1}, {1}, {});
    CHECK(negative.answer().failure == "a size is negative");
    Call damaged("aten::relu");
    damaged.tensor(0, {1}, {1}).request_.arguments.assign(3, std::byte{1});
    CHECK_FALSE(damaged.answer().failure.empty());
    CHECK(Call("aten::relu").tensor(0, {1}, {-1}).result() == Vector{0});
  }
}
