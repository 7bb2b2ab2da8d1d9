#include <cmath>

#include "tests/replay/call.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

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

  TEST_CASE("tensors lie in memory as they were recorded") {
    Call call("program::places");
    call.strided(0, {2, 2}, {2, 1}, {1, 2, 3, 4});
    ReplayTensor& tensor = call.request_.inputs[0];
    tensor.memory_strides = {16, 2};
    const auto places = [&](TensorLayout layout, std::uint8_t alignment) {
      tensor.alignment = alignment;
      call.request_.conditions.layout = layout;
      return call.result(Precision::recorded);
    };
    // The data pointer modulo 64, then the strides.
    CHECK(places(TensorLayout::packed, 12) == Vector{0, 2, 1});
    CHECK(places(TensorLayout::recorded, 12) == Vector{12, 16, 2});
    CHECK(places(TensorLayout::recorded, 0) == Vector{0, 16, 2});
    CHECK(places(TensorLayout::recorded, 3) == Vector{3, 16, 2});
    CHECK(places(TensorLayout::contiguous, 12)[1] == 2);
    call.request_.conditions.alignment = 32;
    CHECK(places(TensorLayout::recorded, 12) == Vector{32, 16, 2});
  }

  TEST_CASE("overlapping and expanded tensors keep their numbers") {
    Call call("aten::mul", "Tensor");
    call.strided(0, {2, 3}, {3, 1}, {1, 2, 3, 2, 3, 4}).tensor(1, {}, {2});
    call.request_.inputs[0].memory_strides = {1, 1};
    call.request_.conditions.layout = TensorLayout::recorded;
    CHECK(call.result(Precision::recorded) == Vector{2, 4, 6, 4, 6, 8});
    Call expanded("aten::mul", "Tensor");
    expanded.strided(0, {2, 2}, {0, 1}, {1, 2}).tensor(1, {}, {2});
    expanded.request_.inputs[0].memory_strides = {0, 5};
    expanded.request_.conditions.layout = TensorLayout::recorded;
    CHECK(expanded.result(Precision::recorded) == Vector{2, 4, 2, 4});
  }

  TEST_CASE("channels_last concerns tensors of 4 dimensions") {
    Call call("program::places");
    call.tensor(0, {1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
    call.request_.conditions.layout = TensorLayout::channels_last;
    CHECK(call.result(Precision::recorded) == Vector{0, 8, 1, 4, 2});
  }

  TEST_CASE("the first rows of a batch") {
    Call call("aten::mm");
    call.tensor(0, {3, 1}, {1, 2, 3}).tensor(1, {1, 1}, {2});
    call.request_.inputs[0].has_rows = true;
    call.request_.conditions.first_rows = 2;
    CHECK(call.result(Precision::recorded) == Vector{2, 4});
  }

  TEST_CASE("LibTorch is in the state that was asked for") {
    Call call("program::state");
    call.tensor(0, {1}, {1});
    ReplayConditions& conditions = call.request_.conditions;
    // Threads, deterministic, warns, fills, oneDNN, grad mode, inference mode, autocast, flushes
    // denormals, requires grad.
    conditions.threads = 1;
    CHECK(call.result(Precision::recorded) == Vector{1, 0, 0, 1, 1, 0, 0, 0, 0, 0});
    conditions.threads = 3;
    conditions.deterministic = conditions.deterministic_warns = true;
    conditions.fill_uninitialized = conditions.mkldnn = false;
    conditions.grad_mode = conditions.autocast = conditions.flush_denormal = true;
    call.request_.inputs[0].requires_grad = true;
    CHECK(call.result(Precision::recorded) == Vector{3, 1, 1, 0, 0, 1, 0, 1, 1, 1});
    conditions = {};
    conditions.threads = 2;
    conditions.inference_mode = true;
    CHECK(call.result(Precision::recorded) == Vector{2, 0, 0, 1, 1, 0, 1, 0, 0, 0});
  }

  TEST_CASE("an answer says which LibTorch gave it") {
    const ReplayAnswer answer = Call("aten::relu").tensor(0, {1}, {1}).answer();
    CHECK_FALSE(answer.torch_version.empty());
    CHECK_FALSE(answer.cpu_capability.empty());
  }
}
