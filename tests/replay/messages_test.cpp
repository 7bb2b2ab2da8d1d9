#include "replay/messages.hpp"

#include <doctest/doctest.h>

#include "ulpscope/error.hpp"

using namespace ulpscope;

namespace {

ReplayRequest request() {
  ReplayRequest request;
  request.op = "aten::addmm";
  request.overload = "out";
  request.precision = Precision::float64;
  ReplayTensor tensor;
  tensor.role = Role::mutated;
  tensor.index = 3;
  tensor.element = 7;
  tensor.wrapped_number = true;
  tensor.dtype = Dtype::bfloat16;
  tensor.sizes = {2, 3};
  tensor.strides = {0, 1};
  tensor.bytes.assign(6, std::byte{0x5a});
  tensor.memory_strides = {0, 2};
  tensor.alignment = 36;
  tensor.requires_grad = true;
  tensor.has_rows = true;
  request.inputs = {tensor, {}};
  request.arguments.assign(5, std::byte{1});
  request.wanted = {tensor};
  request.conditions.threads = 7;
  request.conditions.deterministic = true;
  request.conditions.fill_uninitialized = false;
  request.conditions.mkldnn = false;
  request.conditions.matmul_precision = "medium";
  request.conditions.layout = TensorLayout::channels_last;
  request.conditions.alignment = 12;
  request.conditions.first_rows = 3;
  return request;
}

}  // namespace

TEST_SUITE("replay messages") {
  TEST_CASE("a request arrives as it was sent") {
    const ReplayRequest sent = request();
    const ReplayRequest got = replay::unpack_request(replay::pack(sent));
    CHECK(got.op == sent.op);
    CHECK(got.overload == sent.overload);
    CHECK(got.precision == Precision::float64);
    CHECK(got.arguments == sent.arguments);
    CHECK(got.conditions == sent.conditions);
    REQUIRE(got.inputs.size() == 2);
    const ReplayTensor& tensor = got.inputs[0];
    CHECK(tensor.role == Role::mutated);
    CHECK(tensor.index == 3);
    CHECK(tensor.element == 7);
    CHECK(tensor.wrapped_number);
    CHECK(tensor.dtype == Dtype::bfloat16);
    CHECK(tensor.sizes == sent.inputs[0].sizes);
    CHECK(tensor.strides == sent.inputs[0].strides);
    CHECK(tensor.bytes == sent.inputs[0].bytes);
    CHECK(tensor.memory_strides == sent.inputs[0].memory_strides);
    CHECK(tensor.alignment == 36);
    CHECK(tensor.requires_grad);
    CHECK(tensor.has_rows);
    CHECK(got.wanted.size() == 1);
  }

  TEST_CASE("an answer arrives as it was sent") {
    ReplayAnswer sent;
    sent.failure = "no";
    sent.torch_version = "2.11.0";
    sent.cpu_capability = "AVX2";
    sent.results = request().inputs;
    const ReplayAnswer got = replay::unpack_answer(replay::pack(sent));
    CHECK(got.failure == "no");
    CHECK(got.torch_version == "2.11.0");
    CHECK(got.cpu_capability == "AVX2");
    CHECK(got.results.size() == 2);
  }

  TEST_CASE("every cut message is refused") {
    const std::string whole = replay::pack(request());
    for (std::size_t size = 0; size < whole.size(); ++size)
      CHECK_THROWS_AS(static_cast<void>(replay::unpack_request(whole.substr(0, size))), Error);
  }
}
