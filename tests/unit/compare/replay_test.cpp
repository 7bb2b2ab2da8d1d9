#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include "compare/measure/budget/operands.hpp"
#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

using Vector = std::vector<double>;

/// Executes element-wise ops and a dot product with its own arithmetic, and keeps the requests.
class Calculator : public Replayer {
 public:
  ReplayAnswer replay(const ReplayRequest& request) override {
    asked.push_back(request);
    ReplayAnswer answer;
    const Vector x = read(request.inputs.at(0));
    Vector y(1);
    if (request.op == "aten::dot") {
      const Vector other = read(request.inputs.at(1));
      for (std::size_t i = 0; i < x.size(); ++i) y[0] += x[i] * other[i];
    } else if (functions.contains(request.op)) {
      y = x;
      for (double& number : y) number = functions.at(request.op)(number);
    } else {
      answer.failure = "nobody knows this op";
      return answer;
    }
    ReplayTensor result = request.wanted.at(0);
    const bool single = request.precision == Precision::recorded;
    result.dtype = single ? Dtype::float32 : Dtype::float64;
    for (const double number : y) {
      if (single)
        put(result.bytes, static_cast<float>(number));
      else
        put(result.bytes, number);
    }
    answer.results.push_back(std::move(result));
    return answer;
  }

  std::vector<ReplayRequest> asked;

 private:
  template <class T>
  static void put(std::vector<std::byte>& bytes, T number) {
    const auto raw = std::bit_cast<std::array<std::byte, sizeof(T)>>(number);
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  }

  /// A tensor in row-major order, through its strides.
  static Vector read(const ReplayTensor& tensor) {
    Vector numbers;
    std::vector<std::int64_t> index(tensor.sizes.size(), 0);
    std::int64_t count = 1;
    for (const std::int64_t size : tensor.sizes) count *= size;
    for (std::int64_t n = 0; n < count; ++n) {
      std::int64_t offset = 0;
      for (std::size_t d = 0; d < index.size(); ++d) offset += index[d] * tensor.strides[d];
      float number = 0;
      std::memcpy(&number, tensor.bytes.data() + 4 * offset, sizeof(number));
      numbers.push_back(number);
      for (std::size_t d = index.size(); d-- > 0;) {
        if (++index[d] < tensor.sizes[d]) break;
        index[d] = 0;
      }
    }
    return numbers;
  }

  std::map<std::string, std::function<double(double)>> functions{
      {"aten::exp", [](double x) { return std::exp(x); }},
      {"aten::log", [](double x) { return std::log(x); }},
      {"aten::relu", [](double x) { return x < 0 ? 0 : x; }}};
};

constexpr double kUlp = 0x1p-23;

/// A first op that rounds differently in the candidate; `rest` continues from its result.
Report report_with(CompareOptions options,
                   const std::function<void(RunBuilder&, const Tensor&, bool)>& rest) {
  options.budget = true;
  return report_of(
      [&](RunBuilder& run, bool changed) {
        run.keep_content().step(0).phase(Phase::forward);
        const double y = std::exp(1.0);
        const Tensor left = run.op("aten::exp")
                                .in(run.data({1}), "self")
                                .out({static_cast<float>(changed ? y * (1 + 2 * kUlp) : y)});
        rest(run, left, changed);
      },
      options);
}

Report report_with(Replayer& replayer,
                   const std::function<void(RunBuilder&, const Tensor&, bool)>& rest) {
  CompareOptions options;
  options.replayer = &replayer;
  return report_with(options, rest);
}

double read_back(double y, bool changed) {
  return static_cast<float>(changed ? y * (1 + 2 * kUlp) : y);
}

}  // namespace

TEST_SUITE("replay") {
  TEST_CASE("an op that its own inputs explain is inside, however far its results are apart") {
    Calculator calculator;
    const Report report =
        report_with(calculator, [](RunBuilder& run, const Tensor& y, bool changed) {
          run.op("aten::log").in(y, "self").out({std::log(read_back(std::exp(1.0), changed))});
        });
    CHECK(report.verdict == Verdict::within);
    REQUIRE(report.replay.has_value());
    CHECK(report.replay->inside == 1);
    CHECK(report.replay->outside == 0);
    CHECK(diverging(report) == 1);
  }

  TEST_CASE("an op that its own inputs do not explain comes first, with the run that is wrong") {
    Calculator calculator;
    const Report report =
        report_with(calculator, [](RunBuilder& run, const Tensor& y, bool changed) {
          const double z = std::log(read_back(std::exp(1.0), changed));
          run.op("aten::log").in(y, "self").out({changed ? z * 1.001 : z});
        });
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::log");
    CHECK(judged_on_own_inputs(*report.first()));
    CHECK(has(report.summary, "aten::log is outside of its error budget"));
    CHECK(has(notes_of(*report.first()), "explains the reference's result, not the candidate's"));
    const auto& own = report.first()->tensors.back().difference->budget->own;
    REQUIRE(own.has_value());
    CHECK((*own)[0].inside);
    CHECK_FALSE((*own)[1].inside);
    CHECK(report.replay->outside == 1);
    CHECK(report.findings[1].op == "aten::exp");
  }

  TEST_CASE("what only differs because of its inputs is asked for in float64") {
    Calculator calculator;
    static_cast<void>(report_with(calculator, [](RunBuilder& run, const Tensor& y, bool changed) {
      run.op("aten::log").in(y, "self").out({std::log(read_back(std::exp(1.0), changed))});
    }));
    REQUIRE(calculator.asked.size() == 2);
    CHECK(calculator.asked[0].op == "aten::log");
    CHECK(calculator.asked[0].precision == Precision::float64);
    CHECK(calculator.asked[0].inputs.at(0).bytes != calculator.asked[1].inputs.at(0).bytes);
  }

  TEST_CASE("an op that rounds nothing may be off by no bit") {
    for (const bool wrong : {false, true}) {
      Calculator calculator;
      const Report report =
          report_with(calculator, [&](RunBuilder& run, const Tensor& y, bool changed) {
            const double z = read_back(std::exp(1.0), changed);
            run.op("aten::relu").in(y, "self").out({changed && wrong ? z * (1 + kUlp) : z});
          });
      CHECK(calculator.asked.at(0).precision == Precision::recorded);
      CHECK(report.verdict == (wrong ? Verdict::diverged : Verdict::within));
      CHECK(report.replay->outside == (wrong ? 1 : 0));
    }
  }

  TEST_CASE("an op without an error model is judged by the ops that it calls") {
    Calculator calculator;
    const Report report = report_with(calculator, [](RunBuilder& run, const Tensor& y,
                                                     bool changed) {
      const double z = std::log(read_back(std::exp(1.0), changed));
      Tensor inner;
      auto outer = run.op("mine::composite");
      outer.in(y, "self")
          .calls([&] { inner = run.op("aten::log").in(y, "self").out({changed ? z * 1.001 : z}); })
          .returns(inner);
    });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::log");
    CHECK(report.replay->outside == 1);
    CHECK(report.replay->unjudged == 0);
  }

  TEST_CASE("what each run's backward does by its own ops is held against itself") {
    for (const bool wrong : {false, true}) {
      Calculator calculator;
      const Report report =
          report_with(calculator, [&](RunBuilder& run, const Tensor& y, bool changed) {
            const double z = read_back(std::exp(1.0), changed);
            std::uint64_t forward = 0;
            run.composite("mine::norm", [&](EventBuilder& outer) {
              outer.in(y, "self");
              forward = run.next_position();
              return run.op(changed ? "aten::relu" : "aten::clone").in(y, "self").out({z});
            });
            run.backward(true);
            run.node(changed ? "ReluBackward0" : "CloneBackward0", forward, [&] {
              const double right = changed ? std::exp(z) : std::log(z);
              run.op(changed ? "aten::exp" : "aten::log")
                  .in(y, "self")
                  .out({changed && wrong ? right * 1.001 : right});
            });
          });
      CHECK(report.verdict == (wrong ? Verdict::diverged : Verdict::within));
      CHECK(report.replay->outside == (wrong ? 1 : 0));
      REQUIRE(report.first() != nullptr);
      if (!wrong) continue;
      CHECK(report.first()->kind == FindingKind::origin);
      CHECK(report.first()->op == "aten::exp");
      CHECK_FALSE(report.first()->event.reference.has_value());
      CHECK(judged_on_own_inputs(*report.first()));
      CHECK(has(notes_of(*report.first()), "rounding does not explain its result"));
    }
  }

  TEST_CASE(
      "a node that one run's backward has more for an op computed otherwise is held so, too") {
    for (const bool wrong : {false, true}) {
      Calculator calculator;
      const Report report =
          report_with(calculator, [&](RunBuilder& run, const Tensor& y, bool changed) {
            const double z = read_back(std::exp(1.0), changed);
            std::uint64_t forward = 0;
            run.composite("mine::pool", [&](EventBuilder& outer) {
              outer.in(y, "self");
              const Tensor copied = run.op("aten::clone").in(y, "self").out({z});
              forward = run.next_position();
              return changed ? run.op("aten::relu").in(copied, "self").out({z}) : copied;
            });
            run.backward(true);
            if (changed)
              run.node("ReluBackward0", forward, [&] {
                const double right = std::exp(z);
                run.op("aten::exp").in(y, "self").out({wrong ? right * 1.001 : right});
              });
          });
      CHECK(report.verdict == (wrong ? Verdict::diverged : Verdict::within));
      REQUIRE(report.first() != nullptr);
      CHECK(report.first()->kind == FindingKind::origin);
    }
  }

  TEST_CASE("under autocast what an op computes in 16 bits is judged inside of it") {
    Calculator calculator;
    const Report report =
        report_with(calculator, [](RunBuilder& run, const Tensor& y, bool changed) {
          run.op("aten::log")
              .in(y, "self")
              .flag(event_flag::autocast)
              .calls([&] {
                const Tensor cast =
                    run.op("aten::to").in(y, "self").out(Values({2.71875}).as(Dtype::bfloat16));
                run.op("aten::relu").in(cast, "self").out(Values({2.71875}).as(Dtype::bfloat16));
              })
              .out({changed ? 1.001 : 1.002});  // far from log(y)
        });
    for (const auto& asked : calculator.asked) CHECK(asked.op != "aten::log");
    CHECK(report.replay->outside == 0);
  }

  TEST_CASE("an op whose results are equal may have kept something wrong aside") {
    Calculator calculator;
    const Report report =
        report_with(calculator, [](RunBuilder& run, const Tensor& y, bool changed) {
          const double z = std::log(read_back(std::exp(1.0), changed));
          run.op("mine::loss")
              .in(y, "self")
              .calls([&] { run.op("aten::log").in(y, "self").out({changed ? z * 1.001 : z}); })
              .out({0.5});
        });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::log");
    CHECK(report.replay->outside == 1);
  }

  TEST_CASE("an op of which nothing is known is not judged by the helpers that it calls") {
    Calculator calculator;
    const Report report =
        report_with(calculator, [](RunBuilder& run, const Tensor& y, bool changed) {
          const double z = read_back(std::exp(1.0), changed);
          run.op("mine::kernel")
              .in(y, "self")
              .calls([&] { run.op("aten::relu").in(y, "self").out({z}); })
              .out({changed ? 9.0 : 4.0});
        });
    CHECK(report.replay->inside == 1);
    CHECK(report.replay->unjudged == 1);
    CHECK(report.replay->reasons.at(0).first == "no error budget is known for mine::kernel");
  }

  TEST_CASE("what cannot be judged is counted with its reason") {
    Calculator calculator;
    const Report report =
        report_with(calculator, [](RunBuilder& run, const Tensor& y, bool changed) {
          run.op("mine::op").in(y, "self").out({changed ? 5.0 : 4.0});
          run.op("aten::sigmoid").in(y, "self").out({changed ? 0.5 : 0.25});
        });
    REQUIRE(report.replay.has_value());
    CHECK(report.replay->unjudged == 2);
    REQUIRE(report.replay->reasons.size() == 2);
    CHECK(report.replay->reasons[0].first == "no error budget is known for mine::op");
    CHECK(report.replay->reasons[1].first == "aten::sigmoid: nobody knows this op");
  }

  TEST_CASE("where a replayer is missing, what follows from an origin leaves the verdict open") {
    const auto follows = [](RunBuilder& run, const Tensor& y, bool changed) {
      run.op("aten::log").in(y, "self").out({std::log(read_back(std::exp(1.0), changed))});
    };
    const auto nothing_follows = [](RunBuilder&, const Tensor&, bool) {};
    CompareOptions options;
    CHECK(report_with(options, follows).verdict == Verdict::within);
    options.no_replayer = "no ulpscope-replay-2.11 in lib";
    const Report report = report_with(options, follows);
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(report.summary.find("no ulpscope-replay-2.11 in lib") != std::string::npos);
    CHECK(report_with(options, nothing_follows).verdict == Verdict::within);
  }

  TEST_CASE("rounded operands are told by what they explain") {
    using comparison::budget::Operands;
    const auto rounded = [](Vector numbers, Operands operands) {
      for (double& number : numbers) {
        const auto single = std::bit_cast<std::array<std::byte, 4>>(static_cast<float>(number));
        std::vector<std::byte> bytes(single.begin(), single.end());
        comparison::budget::round_operands(operands, Dtype::float32, bytes);
        float result = 0;
        std::memcpy(&result, bytes.data(), sizeof(result));
        number = result;
      }
      return numbers;
    };
    const auto dot = [](const Vector& a, const Vector& b) {
      double sum = 0;
      for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
      return static_cast<double>(static_cast<float>(sum));
    };
    const Vector a = labelled("a", 32).numbers;
    const Vector b = labelled("b", 32).numbers;
    struct Case {
      Operands operands;
      std::string cause;
    };
    for (const Case& one :
         {Case{Operands::tf32, "tf32"}, Case{Operands::bfloat16, "reduced-precision"},
          Case{Operands::recorded, ""}}) {
      const Operands operands = one.operands;
      Calculator calculator;
      CompareOptions options;
      options.budget = true;
      options.replayer = &calculator;
      const Report report = report_of(
          [&](RunBuilder& run, bool changed) {
            run.keep_content().step(0).phase(Phase::forward);
            const double right = dot(a, b);
            const double other = operands == Operands::recorded
                                     ? right * 1.01
                                     : dot(rounded(a, operands), rounded(b, operands));
            run.op("aten::dot")
                .in(run.data(Values(a)), "self")
                .in(run.data(Values(b)), "tensor")
                .out(Values(std::vector<std::int64_t>{}, {changed ? other : right}));
          },
          options);
      CHECK(report.verdict == Verdict::diverged);
      const std::string known = first_cause(report);
      if (one.cause.empty())
        CHECK(find_cause(report, "tf32") == nullptr);
      else
        CHECK(known == one.cause);
    }
  }

  TEST_CASE("numbers are rounded as the formats have it") {
    using comparison::budget::Operands;
    const auto rounded = [](float number, Operands operands) {
      const auto raw = std::bit_cast<std::array<std::byte, 4>>(number);
      std::vector<std::byte> bytes(raw.begin(), raw.end());
      comparison::budget::round_operands(operands, Dtype::float32, bytes);
      float result = 0;
      std::memcpy(&result, bytes.data(), sizeof(result));
      return result;
    };
    CHECK(rounded(1 + 0x1p-10F, Operands::tf32) == 1 + 0x1p-10F);
    CHECK(rounded(1 + 0x1p-11F, Operands::tf32) == 1);              // tie, to even
    CHECK(rounded(1 + 0x1.8p-10F, Operands::tf32) == 1 + 0x1p-9F);  // tie, to even
    CHECK(rounded(1 + 0x1.8p-10F, Operands::tf32_cut) == 1 + 0x1p-10F);
    CHECK(rounded(-1 - 0x1p-8F, Operands::bfloat16) == -1);
    CHECK(rounded(65519, Operands::float16) == 65504);
    CHECK(std::isinf(rounded(65520, Operands::float16)));
    CHECK(rounded(-70000, Operands::float16) < 0);
    CHECK(rounded(0x1.8p-24F, Operands::float16) == 0x1p-23F);
    CHECK(rounded(0x1p-26F, Operands::float16) == 0);
    CHECK(std::isnan(rounded(NAN, Operands::tf32)));
    CHECK(std::isinf(rounded(INFINITY, Operands::bfloat16)));
  }
}
