#include <array>
#include <cmath>
#include <cstdint>

#include "tests/replay/call.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

/// Numbers without a pattern, that float32 holds.
Vector numbers(std::size_t count, unsigned seed) {
  Vector result;
  std::uint64_t state = seed;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    result.push_back(static_cast<double>(state >> 48) / 65536 - 0.5);
  }
  return result;
}

Vector with(Vector vector, std::size_t at, double more) {
  vector[at] += more;
  return vector;
}

double dot(const Vector& a, const Vector& b) {
  REQUIRE(a.size() == b.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void check_near(const Vector& found, const Vector& expected, double within) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(std::abs(found[i] - expected[i]) <= within);
}

const auto kYes = [](std::uint16_t index, bool value) {
  return [=](ArgumentWriter& writer) { writer.boolean(index, value); };
};
const auto kAll = [](std::uint16_t index, std::size_t count) {
  return [=](ArgumentWriter& writer) {
    writer.bool_list(index, count, [](std::size_t) { return true; });
  };
};
const auto kNoIntegers = [](std::uint16_t index) {
  return [=](ArgumentWriter& writer) {
    writer.int_list(index, 0, [](std::size_t) { return std::int64_t{0}; });
  };
};

/// A net of one layer with 2 inputs and 3 states, over 4 steps of 2 samples.
struct Recurrent {
  std::int64_t gates = 4;
  std::string op = "aten::lstm";
  Sizes input_shape{4, 2, 2};
  Sizes state_shape{1, 2, 3};
  Vector input = numbers(16, 1);
  Vector hx = numbers(6, 2);
  Vector cx = numbers(6, 3);
  Vector given = numbers(24, 7);

  [[nodiscard]] Sizes shape(std::uint16_t weight) const {
    if (weight == 0) return {3 * gates, 2};
    return weight == 1 ? Sizes{3 * gates, 3} : Sizes{3 * gates};
  }
  [[nodiscard]] Vector weight(std::uint16_t number) const {
    std::size_t count = 1;
    for (const std::int64_t size : shape(number)) count *= static_cast<std::size_t>(size);
    return numbers(count, 10U + number);
  }

  /// What backward is the gradient of.
  [[nodiscard]] double loss(const Vector& x, std::uint16_t changed = 9,
                            const Vector& value = {}) const {
    Call call(op, "input");
    call.tensor(0, input_shape, x).tensor(1, state_shape, hx);
    const bool lstm = gates == 4;
    if (lstm) call.tensor(1, state_shape, cx, 1);
    for (std::uint16_t k = 0; k < 4; ++k)
      call.tensor(2, shape(k), k == changed ? value : weight(k), k);
    call.argument(kYes(3, true)).argument(kInteger(4, 1)).argument(kNumber(5, 0));
    call.argument(kYes(6, true)).argument(kYes(7, false)).argument(kYes(8, false));
    return dot(call.result(), given);
  }

  [[nodiscard]] Call cudnn(std::int64_t mode) const {
    Call call("aten::_cudnn_rnn_backward");
    call.tensor(0, input_shape, input);
    for (std::uint16_t k = 0; k < 4; ++k) call.tensor(1, shape(k), weight(k), k);
    call.tensor(3, {1}, {0}).tensor(4, state_shape, hx);
    gates == 4 ? call.tensor(5, state_shape, cx) : call.none(5);
    call.tensor(6, {4, 2, 3}, given).tensor(7, {4, 2, 3}, given).none(8).none(9);
    call.none(19).tensor(20, {1}, {0});
    call.argument(kInteger(2, 4)).argument(kInteger(10, mode)).argument(kInteger(11, 3));
    call.argument(kInteger(12, 0)).argument(kInteger(13, 1)).argument(kYes(14, false));
    call.argument(kNumber(15, 0)).argument(kYes(16, true)).argument(kYes(17, false));
    call.argument(kNoIntegers(18)).argument(kAll(21, 4));
    return call;
  }
};

/// Central differences, good to about the square of their step.
constexpr double kStep = 0x1p-10;
constexpr double kNear = 1e-5;

void check_gradients(const Recurrent& net, std::int64_t mode) {
  Vector of_input;
  for (std::size_t i = 0; i < net.input.size(); ++i)
    of_input.push_back(
        (net.loss(with(net.input, i, kStep)) - net.loss(with(net.input, i, -kStep))) / (2 * kStep));
  check_near(net.cudnn(mode).result(), of_input, kNear);
  for (std::uint16_t weight = 0; weight < 4; ++weight) {
    const Vector known = net.weight(weight);
    Vector expected;
    for (std::size_t i = 0; i < known.size(); ++i)
      expected.push_back((net.loss(net.input, weight, with(known, i, kStep)) -
                          net.loss(net.input, weight, with(known, i, -kStep))) /
                         (2 * kStep));
    check_near(net.cudnn(mode).result(Precision::float64, Role::output, 3, weight), expected,
               kNear);
  }
}

}  // namespace

TEST_SUITE("replay of ops of a GPU") {
  TEST_CASE("backward of a batch norm by cuDNN is the CPU's") {
    const Sizes image{2, 3, 2, 2};
    const Vector x = numbers(24, 1);
    const Vector g = numbers(24, 2);
    const Vector weight = numbers(3, 3);
    const Vector mean = numbers(3, 4);
    const Vector deviation{1.5, 2, 0.75};
    Call cudnn("aten::cudnn_batch_norm_backward");
    cudnn.tensor(0, image, x).tensor(1, image, g).tensor(2, {3}, weight).none(3).none(4);
    cudnn.tensor(5, {3}, mean).tensor(6, {3}, deviation).tensor(8, {1}, {0});
    cudnn.argument(kNumber(7, 1e-5));
    Call native("aten::native_batch_norm_backward");
    native.tensor(0, image, g).tensor(1, image, x).tensor(2, {3}, weight).none(3).none(4);
    native.tensor(5, {3}, mean).tensor(6, {3}, deviation).argument(kYes(7, true));
    native.argument(kNumber(8, 1e-5)).argument(kAll(9, 3));
    for (const std::uint16_t result : std::array<std::uint16_t, 3>{0, 1, 2})
      check_near(cudnn.result(Precision::float64, Role::output, result),
                 native.result(Precision::float64, Role::output, result), 1e-13);
  }

  TEST_CASE("backward of each attention of a GPU is the CPU's") {
    const Sizes heads{1, 2, 4, 3};
    const Vector q = numbers(24, 1);
    const Vector k = numbers(24, 2);
    const Vector v = numbers(24, 3);
    const Vector g = numbers(24, 4);
    Call forward("aten::_scaled_dot_product_flash_attention_for_cpu");
    forward.tensor(0, heads, q).tensor(1, heads, k).tensor(2, heads, v);
    forward.argument(kNumber(3, 0)).argument(kYes(4, true));
    Call expected("aten::_scaled_dot_product_flash_attention_for_cpu_backward");
    expected.tensor(0, heads, g).tensor(1, heads, q).tensor(2, heads, k).tensor(3, heads, v);
    expected.tensor(4, heads, forward.result());
    expected.tensor(5, {1, 2, 4}, forward.result(Precision::float64, Role::output, 1));
    expected.argument(kNumber(6, 0)).argument(kYes(7, true));

    Call efficient("aten::_scaled_dot_product_efficient_attention_backward");
    efficient.none(4).tensor(5, heads, g).tensor(6, {1, 2, 4}, numbers(8, 5));
    efficient.tensor(7, {}, {0}).tensor(8, {}, {0});
    efficient.argument(kNumber(9, 0)).argument(kAll(10, 4)).argument(kYes(11, true));
    Call flash("aten::_scaled_dot_product_flash_attention_backward");
    flash.tensor(4, heads, g).tensor(5, {1, 2, 4}, numbers(8, 5)).tensor(6, {}, {0});
    flash.tensor(7, {}, {0}).tensor(12, {}, {0}).tensor(13, {}, {0});
    flash.argument(kInteger(8, 4)).argument(kInteger(9, 4)).argument(kNumber(10, 0));
    flash.argument(kYes(11, true));
    Call cudnn("aten::_scaled_dot_product_cudnn_attention_backward");
    cudnn.tensor(4, heads, g).tensor(5, {1, 2, 4}, numbers(8, 5)).tensor(6, {}, {0});
    cudnn.tensor(7, {}, {0}).none(8).tensor(9, {}, {0}).tensor(10, {}, {0});
    cudnn.argument(kInteger(11, 4)).argument(kInteger(12, 4)).argument(kNumber(13, 0));
    cudnn.argument(kYes(14, true));
    for (Call* call : {&efficient, &flash, &cudnn}) {
      CAPTURE(call->request_.op);
      call->tensor(0, heads, g).tensor(1, heads, q).tensor(2, heads, k).tensor(3, heads, v);
      // The CPU's backward gets a result that was rounded to float32.
      for (const std::uint16_t result : std::array<std::uint16_t, 3>{0, 1, 2})
        check_near(call->result(Precision::float64, Role::output, result),
                   expected.result(Precision::float64, Role::output, result), 1e-6);
    }
  }

  TEST_CASE("backward of recurrent nets by cuDNN is the slope of their forward") {
    check_gradients({}, 2);
    Recurrent gru;
    gru.gates = 3;
    gru.op = "aten::gru";
    check_gradients(gru, 3);
    Recurrent plain;
    plain.gates = 1;
    plain.op = "aten::rnn_tanh";
    check_gradients(plain, 1);
  }

  TEST_CASE("backward of an LSTM by oneDNN is cuDNN's") {
    const Recurrent net;
    Call onednn("aten::mkldnn_rnn_layer_backward");
    onednn.tensor(0, net.input_shape, net.input);
    for (std::uint16_t k = 0; k < 4; ++k)
      onednn.tensor(static_cast<std::uint16_t>(k + 1), net.shape(k), net.weight(k));
    onednn.tensor(5, {2, 3}, net.hx).tensor(6, {2, 3}, net.cx);
    for (const std::uint16_t unused : std::array<std::uint16_t, 3>{7, 8, 9})
      onednn.tensor(unused, {1}, {0});
    onednn.tensor(10, {4, 2, 3}, net.given).none(11).none(12).tensor(22, {1}, {0});
    onednn.argument(kYes(13, false)).argument(kInteger(14, 2)).argument(kInteger(15, 3));
    onednn.argument(kInteger(16, 1)).argument(kYes(17, true)).argument(kYes(18, true));
    onednn.argument(kYes(19, false)).argument(kNoIntegers(20)).argument(kYes(21, false));
    check_near(onednn.result(), net.cudnn(2).result(), 1e-12);
    for (std::uint16_t weight = 0; weight < 4; ++weight)
      check_near(
          onednn.result(Precision::float64, Role::output, static_cast<std::uint16_t>(weight + 1)),
          net.cudnn(2).result(Precision::float64, Role::output, 3, weight), 1e-12);
    for (const std::uint16_t state : std::array<std::uint16_t, 2>{0, 1})
      check_near(
          onednn.result(Precision::float64, Role::output, static_cast<std::uint16_t>(state + 5)),
          net.cudnn(2).result(Precision::float64, Role::output,
                              static_cast<std::uint16_t>(state + 1)),
          1e-12);
  }

  TEST_CASE("what draws random numbers is not executed") {
    Recurrent net;
    Call drawing = net.cudnn(2);
    drawing.argument(kNumber(15, 0.5));
    CHECK(drawing.answer().failure == "it draws random numbers");
  }
}
