#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "compare/measure/budget/numbers.hpp"
#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

using Vector = std::vector<double>;
using Shape = std::vector<std::int64_t>;

CompareOptions with_budget() {
  CompareOptions options;
  options.budget = true;
  return options;
}

/// Normal numbers of float32.
Vector normal(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> distribution;
  Vector numbers(count);
  for (double& number : numbers) number = distribution(generator);
  return numbers;
}

Vector scaled(Vector numbers, double factor) {
  for (double& number : numbers) number = static_cast<float>(number * factor);
  return numbers;
}

double to_bfloat16(double number) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(number));
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
}

/// A float32 sum of `count` terms in one of two orders.
double summed(std::size_t count, bool backwards, const std::function<float(std::size_t)>& term) {
  float sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += term(backwards ? count - 1 - i : i);
  return sum;
}

constexpr std::size_t kRows = 8;
constexpr std::size_t kInner = 512;
constexpr std::size_t kColumns = 8;

Vector product(const Vector& a, const Vector& b, bool backwards) {
  Vector result;
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t column = 0; column < kColumns; ++column)
      result.push_back(summed(kInner, backwards, [&](std::size_t k) {
        return static_cast<float>(a[row * kInner + k]) *
               static_cast<float>(b[k * kColumns + column]);
      }));
  return result;
}

/// A matrix product whose result in the candidate is given.
std::function<void(RunBuilder&, bool)> matrix_product(const std::string& op, const Vector& other,
                                                      bool content = true) {
  return [=](RunBuilder& run, bool changed) {
    if (content) run.keep_content();
    run.step(0).phase(Phase::forward);
    const Vector a = normal(kRows * kInner, 1);
    const Vector b = normal(kInner * kColumns, 2);
    const Tensor left = run.data(Values(Shape{kRows, kInner}, a));
    const Tensor right = run.data(Values(Shape{kInner, kColumns}, b));
    run.op(op)
        .in(left, "self")
        .in(right, "mat2")
        .out(Values(Shape{kRows, kColumns}, changed ? other : product(a, b, false)));
  };
}

Vector reordered() {
  return product(normal(kRows * kInner, 1), normal(kInner * kColumns, 2), true);
}

Vector with_scaled_weight(double factor) {
  return product(normal(kRows * kInner, 1), scaled(normal(kInner * kColumns, 2), factor), false);
}

/// Normalized rows, computed in float64 or in float32.
template <class Real>
Vector layer_norm(const Vector& x, std::size_t size, double eps) {
  Vector result;
  for (std::size_t row = 0; row < x.size(); row += size) {
    Real sum = 0;
    Real squares = 0;
    for (std::size_t k = 0; k < size; ++k) sum += static_cast<Real>(x[row + k]);
    const Real mean = sum / static_cast<Real>(size);
    for (std::size_t k = 0; k < size; ++k) {
      const Real centred = static_cast<Real>(x[row + k]) - mean;
      squares += centred * centred;
    }
    const Real rstd = 1 / std::sqrt(squares / static_cast<Real>(size) + static_cast<Real>(eps));
    for (std::size_t k = 0; k < size; ++k)
      result.push_back(static_cast<float>((static_cast<Real>(x[row + k]) - mean) * rstd));
  }
  return result;
}

/// One head of attention; each query sees the keys up to its own where `causal`.
Vector attention(const Vector& q, const Vector& k, const Vector& v, std::size_t length,
                 std::size_t width, bool causal, bool single) {
  const auto rounded = [&](double x) {
    return single ? static_cast<double>(static_cast<float>(x)) : x;
  };
  Vector result;
  for (std::size_t i = 0; i < length; ++i) {
    Vector weights;
    double total = 0;
    for (std::size_t j = 0; j < (causal ? i + 1 : length); ++j) {
      double score = 0;
      for (std::size_t d = 0; d < width; ++d)
        score = rounded(score + rounded(q[i * width + d] * k[j * width + d]));
      weights.push_back(rounded(std::exp(rounded(score / std::sqrt(static_cast<double>(width))))));
      total = rounded(total + weights.back());
    }
    for (std::size_t d = 0; d < width; ++d) {
      double sum = 0;
      for (std::size_t j = 0; j < weights.size(); ++j)
        sum = rounded(sum + rounded(weights[j] * v[j * width + d]));
      result.push_back(static_cast<float>(sum / total));
    }
  }
  return result;
}

const Difference& result_of(const Report& report) {
  REQUIRE(report.first() != nullptr);
  REQUIRE(report.first()->tensors.back().difference.has_value());
  return *report.first()->tensors.back().difference;
}

}  // namespace

TEST_SUITE("budget") {
  TEST_CASE("another order of additions is inside, a weight scaled by a thousandth is not") {
    const Report order = report_of(matrix_product("aten::mm", reordered()), with_budget());
    CHECK(order.verdict == Verdict::within);
    REQUIRE(result_of(order).budget.has_value());
    CHECK(result_of(order).budget->inside);
    CHECK(result_of(order).budget->why == "sum of 512 float32 products");
    CHECK(result_of(order).budget->ulp == 49);
    CHECK(*result_of(order).budget->used < 0.5);

    const Report scale =
        report_of(matrix_product("aten::mm", with_scaled_weight(1.001)), with_budget());
    CHECK(scale.verdict == Verdict::diverged);
    CHECK(*result_of(scale).budget->used > 4);
    CHECK(scale.budget->outside == 1);
  }

  TEST_CASE("a square root may be a neighbour of the right number, no more") {
    const auto program = [](int ulp) {
      return [ulp](RunBuilder& run, bool changed) {
        run.keep_content().step(0).phase(Phase::forward);
        const double moved = 1.5 + ulp * 0x1p-23;
        run.op("aten::sqrt").in(run.data(Values{2.25}), "self").out({changed ? moved : 1.5});
      };
    };
    CHECK(report_of(program(1), with_budget()).verdict == Verdict::within);
    CHECK(report_of(program(4), with_budget()).verdict == Verdict::diverged);
  }

  TEST_CASE("a sum that cancels is judged by its terms, not by ULP") {
    const auto program = [](double noise) {
      return [noise](RunBuilder& run, bool changed) {
        run.keep_content().step(0).phase(Phase::forward);
        Vector terms = normal(512, 3);
        for (std::size_t i = 0; i < 512; ++i) terms.push_back(-terms[i]);
        run.op("aten::sum").in(run.data(Values(terms)), "self").out({changed ? noise : 0.0});
      };
    };
    const Report rounding = report_of(program(1e-6), with_budget());
    CHECK(result_of(rounding).ulp_max > 1000000);
    CHECK(rounding.verdict == Verdict::within);
    CHECK(report_of(program(1e-3), with_budget()).verdict == Verdict::diverged);
  }

  TEST_CASE("terms that cancel far apart make large partial sums") {
    constexpr std::size_t kTerms = 4096;
    Vector terms = normal(kTerms, 8);
    for (std::size_t i = 0; i < kTerms; ++i)
      terms[i] = static_cast<float>((i < kTerms / 2 ? 1 : -1) * (5 + std::abs(terms[i])));
    const auto in_order = [&](bool alternating) {
      return summed(kTerms, false, [&](std::size_t i) {
        const std::size_t at = i % 2 == 0 ? i / 2 : kTerms / 2 + i / 2;
        return static_cast<float>(terms[alternating ? at : i]);
      });
    };
    const auto program = [&](double other) {
      return [=](RunBuilder& run, bool changed) {
        run.keep_content().step(0).phase(Phase::forward);
        run.op("aten::sum")
            .in(run.data(Values(terms)), "self")
            .out({changed ? other : in_order(false)});
      };
    };
    CHECK(report_of(program(in_order(true)), with_budget()).verdict == Verdict::within);
    CHECK(report_of(program(in_order(true) + 5), with_budget()).verdict == Verdict::diverged);
  }

  TEST_CASE("a convolution with a weight scaled by a thousandth is outside") {
    constexpr std::size_t kChannels = 32;
    constexpr std::size_t kSide = 9;
    constexpr std::size_t kOut = 4;
    const Vector image = normal(kChannels * kSide * kSide, 9);
    const Vector weight = normal(4 * kChannels * 9, 10);
    const auto convolved = [&](double factor, bool backwards) {
      Vector result;
      for (std::size_t o = 0; o < 4; ++o)
        for (std::size_t y = 0; y < kOut; ++y)
          for (std::size_t x = 0; x < kOut; ++x)
            result.push_back(summed(kChannels * 9, backwards, [&](std::size_t k) {
              const std::size_t c = k / 9;
              const std::size_t row = 2 * y + k % 9 / 3;
              const std::size_t column = 2 * x + k % 3;
              return static_cast<float>(image[(c * kSide + row) * kSide + column]) *
                     static_cast<float>(factor * weight[o * kChannels * 9 + k]);
            }));
      return result;
    };
    const auto program = [&](const Vector& other) {
      return [=](RunBuilder& run, bool changed) {
        run.keep_content().step(0).phase(Phase::forward);
        run.op("aten::convolution")
            .in(run.data(Values(Shape{1, kChannels, kSide, kSide}, image)), "input")
            .in(run.data(Values(Shape{4, kChannels, 3, 3}, weight)), "weight")
            .in_none("bias")
            .arg("stride", Shape{2, 2})
            .arg("padding", Shape{0, 0})
            .arg("dilation", Shape{1, 1})
            .out(Values(Shape{1, 4, kOut, kOut}, changed ? other : convolved(1, false)));
      };
    };
    const Report order = report_of(program(convolved(1, true)), with_budget());
    CHECK(order.verdict == Verdict::within);
    CHECK(result_of(order).budget->why == "sum of 288 float32 products");
    const Report scale = report_of(program(convolved(1.001, false)), with_budget());
    CHECK(scale.verdict == Verdict::diverged);
    CHECK(*result_of(scale).budget->used > 4);
  }

  TEST_CASE("a bias of 16 bits may be added to a result that was rounded before it") {
    constexpr std::size_t kSide = 16;
    Vector image = normal(kSide * kSide, 11);
    for (double& number : image) number = to_bfloat16(number);
    constexpr double kWeight = 1.1875;
    constexpr double kBias = 1.59375;  // near the image's largest: some sums cancel
    const auto convolved = [&](double bias, bool apart) {
      Vector result;
      for (const double number : image) {
        const double product = number * kWeight;
        result.push_back(to_bfloat16((apart ? to_bfloat16(product) : product) + bias));
      }
      return Values(Shape{1, 1, kSide, kSide}, result).as(Dtype::bfloat16);
    };
    const auto program = [&](const Values& other) {
      return [=](RunBuilder& run, bool changed) {
        run.keep_content().step(0).phase(Phase::forward);
        run.op("aten::conv2d")
            .in(run.data(Values(Shape{1, 1, kSide, kSide}, image).as(Dtype::bfloat16)), "input")
            .in(run.data(Values(Shape{1, 1, 1, 1}, {kWeight}).as(Dtype::bfloat16)), "weight")
            .in(run.data(Values({kBias}).as(Dtype::bfloat16)), "bias")
            .out(changed ? other : convolved(kBias, false));
      };
    };
    const Report apart = report_of(program(convolved(kBias, true)), with_budget());
    CHECK(apart.verdict == Verdict::within);
    const Report wrong = report_of(program(convolved(kBias * 1.03, false)), with_budget());
    CHECK(wrong.verdict == Verdict::diverged);
  }

  TEST_CASE("sums of 16 bits may be kept as such") {
    constexpr std::size_t kSums = 64;
    constexpr std::size_t kTerms = 9;
    Vector terms = normal(kSums * kTerms, 12);
    for (double& term : terms) term = to_bfloat16(term);
    const auto summed_up = [&](double factor, bool kept) {
      Vector result;
      for (std::size_t i = 0; i < kSums; ++i) {
        double sum = 0;
        for (std::size_t k = 0; k < kTerms; ++k) {
          sum += factor * terms[i * kTerms + k];
          if (kept) sum = to_bfloat16(sum);
        }
        result.push_back(to_bfloat16(sum));
      }
      return Values(result).as(Dtype::bfloat16);
    };
    const auto program = [&](const Values& other) {
      return [=](RunBuilder& run, bool changed) {
        run.keep_content().step(0).phase(Phase::backward);
        run.op("aten::avg_pool2d_backward")
            .in(run.data(Values(terms).as(Dtype::bfloat16)), "grad_output")
            .arg("kernel_size", Shape{3, 3})
            .out(changed ? other : summed_up(1, false));
      };
    };
    CHECK(report_of(program(summed_up(1, true)), with_budget()).verdict == Verdict::within);
    CHECK(report_of(program(summed_up(1.2, false)), with_budget()).verdict == Verdict::diverged);
  }

  TEST_CASE("a sum that grows may be kept in 16 bits after each of its terms") {
    constexpr std::size_t kTerms = 64;
    Vector terms = normal(kTerms, 13);
    for (double& term : terms) term = to_bfloat16(term);
    const auto summed_up = [&](double factor, bool kept) {
      Vector result;
      double sum = 0;
      for (const double term : terms) {
        sum += factor * term;
        if (kept) sum = to_bfloat16(sum);
        result.push_back(to_bfloat16(sum));
      }
      return Values(result).as(Dtype::bfloat16);
    };
    const auto program = [&](const Values& other) {
      return [=](RunBuilder& run, bool changed) {
        run.keep_content().step(0).phase(Phase::forward);
        run.op("aten::cumsum")
            .in(run.data(Values(terms).as(Dtype::bfloat16)), "self")
            .arg("dim", 0)
            .out(changed ? other : summed_up(1, false));
      };
    };
    CHECK(report_of(program(summed_up(1, true)), with_budget()).verdict == Verdict::within);
    CHECK(report_of(program(summed_up(1.5, false)), with_budget()).verdict == Verdict::diverged);
  }

  TEST_CASE("a number beside a tensor of 16 bits may be rounded to those first") {
    const auto program = [](Dtype dtype, double other) {
      return [=](RunBuilder& run, bool changed) {
        run.keep_content().step(0).phase(Phase::forward);
        run.op("aten::add")
            .in(run.data(Values{1.5}.as(dtype)), "self")
            .arg("other", 0.1)
            .arg("alpha", 1)
            .out(Values{changed ? other : 1.6015625}.as(dtype));
      };
    };
    CHECK(report_of(program(Dtype::bfloat16, 1.59375), with_budget()).verdict == Verdict::within);
    CHECK(report_of(program(Dtype::bfloat16, 1.75), with_budget()).verdict == Verdict::diverged);
    CHECK(report_of(program(Dtype::float32, 1.59375), with_budget()).verdict == Verdict::diverged);
  }

  TEST_CASE("which of several equal numbers an op picks is open") {
    const auto program = [](std::int64_t other) {
      return [other](RunBuilder& run, bool changed) {
        run.keep_content().step(0).phase(Phase::forward);
        const Tensor numbers = run.data({3, 1, 3});
        EventBuilder sort = run.op("aten::sort");
        sort.in(numbers, "self").arg("dim", 0).out({1, 3, 3});
        sort.out(Values(Vector{1, changed ? static_cast<double>(other) : 0, 2}).as(Dtype::int64));
      };
    };
    CHECK(report_of(program(2), with_budget()).verdict == Verdict::within);
    CHECK(report_of(program(1), with_budget()).verdict == Verdict::diverged);
    CHECK(report_of(program(7), with_budget()).verdict == Verdict::diverged);
  }

  TEST_CASE("another eps of a normalisation is outside") {
    constexpr std::size_t kSize = 128;
    const auto program = [](const std::function<Vector(const Vector&)>& other) {
      return [other](RunBuilder& run, bool changed) {
        run.keep_content().step(0).phase(Phase::forward);
        const Vector x = normal(16 * kSize, 4);
        run.op("aten::native_layer_norm")
            .in(run.data(Values(Shape{16, kSize}, x)), "input")
            .arg("normalized_shape", Shape{kSize})
            .in_none("weight")
            .in_none("bias")
            .arg("eps", 1e-5)
            .out(Values(Shape{16, kSize}, changed ? other(x) : layer_norm<float>(x, kSize, 1e-5)));
      };
    };
    const Report exact = report_of(
        program([](const Vector& x) { return layer_norm<double>(x, kSize, 1e-5); }), with_budget());
    CHECK(exact.verdict == Verdict::within);
    CHECK(*result_of(exact).budget->used < 0.5);
    const Report eps = report_of(
        program([](const Vector& x) { return layer_norm<float>(x, kSize, 1e-6); }), with_budget());
    CHECK(eps.verdict == Verdict::diverged);
    CHECK(*result_of(eps).budget->used > 1.5);
  }

  TEST_CASE("attention without its mask is outside") {
    constexpr std::size_t kLength = 16;
    constexpr std::size_t kWidth = 32;
    const auto program = [](bool causal) {
      return [causal](RunBuilder& run, bool changed) {
        run.keep_content().step(0).phase(Phase::forward);
        const Vector q = normal(kLength * kWidth, 5);
        const Vector k = normal(kLength * kWidth, 6);
        const Vector v = normal(kLength * kWidth, 7);
        const Shape shape{1, 1, kLength, kWidth};
        run.op("aten::_scaled_dot_product_flash_attention_for_cpu")
            .in(run.data(Values(shape, q)), "query")
            .in(run.data(Values(shape, k)), "key")
            .in(run.data(Values(shape, v)), "value")
            .out(Values(shape, changed ? attention(q, k, v, kLength, kWidth, causal, false)
                                       : attention(q, k, v, kLength, kWidth, true, true)));
      };
    };
    const Report exact = report_of(program(true), with_budget());
    CHECK(exact.verdict == Verdict::within);
    const Report unmasked = report_of(program(false), with_budget());
    CHECK(unmasked.verdict == Verdict::diverged);
    CHECK(*result_of(unmasked).budget->used > 100);
  }

  TEST_CASE("what moves numbers may change none") {
    const auto program = [](RunBuilder& run, bool changed) {
      run.keep_content().step(0).phase(Phase::forward);
      run.op("aten::clone").in(run.data({1, 2}), "self").out({1, changed ? 2.0000002 : 2});
    };
    const Report report = report_of(program, with_budget());
    CHECK(report.verdict == Verdict::diverged);
    CHECK(result_of(report).budget->ulp == 0);
    CHECK_FALSE(result_of(report).budget->used.has_value());
  }

  TEST_CASE("a NaN in one run only is outside") {
    Vector other = reordered();
    other[3] = std::nan("");
    CHECK(report_of(matrix_product("aten::mm", other), with_budget()).verdict == Verdict::diverged);
  }

  TEST_CASE("without bytes nothing is known") {
    const Report report = report_of(matrix_product("aten::mm", reordered(), false), with_budget());
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(report.budget->without_bytes == 1);
    CHECK(has(report.summary, "--level full"));
  }

  TEST_CASE("an op of which nothing is known has no budget") {
    const Report report = report_of(matrix_product("aten::mystery", reordered()), with_budget());
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(report.budget->without_model == 1);
    CHECK_FALSE(result_of(report).budget.has_value());
  }

  TEST_CASE("what is known to be outside stands before an earlier op of which nothing is known") {
    const Report report = report_of(
        [](RunBuilder& run, bool changed) {
          run.keep_content().step(0).phase(Phase::forward);
          run.op("aten::exp").in(run.data(Values{0.0}), "self").out({changed ? 1 + 0x1p-23 : 1.0});
          run.op("aten::mystery").in(run.data(Values{2.0}), "self").out({changed ? 4.0 : 3.0});
          run.op("aten::relu").in(run.data(Values{5.0}), "self").out({changed ? 6.0 : 5.0});
        },
        with_budget());
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.findings.size() == 3);
    CHECK(report.findings[0].op == "aten::relu");
    CHECK(report.findings[1].op == "aten::mystery");
    CHECK(report.findings[2].op == "aten::exp");
  }

  TEST_CASE("a rule of the tolerance may allow an origin more") {
    CompareOptions options = with_budget();
    ToleranceRule rule;
    rule.op = "aten::mm";
    rule.limits.rtol = 0.01;
    options.rules = {rule};
    const Report report = report_of(matrix_product("aten::mm", with_scaled_weight(1.001)), options);
    CHECK(report.verdict == Verdict::within);
    CHECK(report.budget->allowed == 1);
    CHECK(report.rules[0].passed == 1);
  }

  TEST_CASE("every occurrence counts, not only the one that is listed") {
    const auto program = [](RunBuilder& run, bool changed) {
      run.keep_content();
      for (int step = 0; step < 2; ++step) {
        run.step(step).phase(Phase::forward);
        const double off = step == 0 ? 2.4e-7 : 1e-3;
        run.op("aten::exp").in(run.data({1}), "self").out({2 + (changed ? off : 0)});
      }
    };
    const Report report = report_of(program, with_budget());
    REQUIRE(report.findings.size() == 1);
    CHECK(result_of(report).budget->inside);
    CHECK(report.verdict == Verdict::diverged);
    CHECK(report.budget->inside == 1);
    CHECK(report.budget->outside == 1);
  }

  TEST_CASE("what follows from an origin is not judged, and that is said") {
    const auto program = [](RunBuilder& run, bool changed) {
      run.keep_content().step(0).phase(Phase::forward);
      const Tensor y =
          run.op("aten::exp").in(run.data({1}), "self").out({2 + (changed ? 2.4e-7 : 0)});
      run.op("aten::log").in(y, "self").out({changed ? 5.0 : 4.0});
    };
    const Report report = report_of(program, with_budget());
    CHECK(report.verdict == Verdict::within);
    CHECK(has(report.coverage.unseen.back(), "the budget judges origins only, not the 1 event"));
  }

  TEST_CASE("data that differs has no budget") {
    const auto program = [](RunBuilder& run, bool changed) {
      run.keep_content().step(0).phase(Phase::forward);
      run.op("aten::exp").in(run.data({1 + (changed ? 1.2e-7 : 0)}), "self").out({2});
    };
    CHECK(report_of(program, with_budget()).verdict == Verdict::diverged);
  }
}

TEST_SUITE("sizes of sums") {
  TEST_CASE("norms and runs of slices") {
    // Rows (3, 4), (-1, 1), (2, -2) in column-major memory.
    const comparison::budget::Numbers numbers{{3, -1, 2, 4, 1, -2}, {3, 2}, {1, 3}, 1};
    using comparison::budget::largest_norm;
    using comparison::budget::largest_run;
    CHECK(comparison::budget::largest(numbers) == 4);
    CHECK(largest_norm(numbers, {0}) == 5);
    CHECK(largest_norm(numbers, {1}) == doctest::Approx(std::sqrt(21)));
    CHECK(largest_norm(numbers, {}) == doctest::Approx(std::sqrt(35)));
    CHECK(largest_run(numbers, {0}) == 7);
    CHECK(largest_run(numbers, {1}) == 5);
  }
}
