#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>

#include "compare/experiment/results.hpp"
#include "tests/unit/compare/report_of.hpp"
#include "ulpscope/error.hpp"
#include "ulpscope/replay_report.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

/// What the op of a fake LibTorch returns; float64 is asked for with Precision::float64.
using Op = std::function<double(const ReplayStart&, const ReplayRequest&)>;

class Fake : public Replayer {
 public:
  Fake(Op op, ReplayStart start) : op_(std::move(op)), start_(std::move(start)) {}

  ReplayAnswer replay(const ReplayRequest& request) override {
    ReplayAnswer answer;
    answer.cpu_capability = "AVX2";
    answer.torch_version = "2.11.0";
    ReplayTensor result = request.wanted.at(0);
    const double value = op_(start_, request);
    if (value == kFails) {
      answer.failure = "the op ended the program that executed it";
      return answer;
    }
    const auto put = [&](auto number) {
      result.bytes.resize(sizeof(number));
      std::memcpy(result.bytes.data(), &number, sizeof(number));
    };
    const bool wide = request.precision == Precision::float64;
    result.dtype = wide ? Dtype::float64 : Dtype::float32;
    if (wide)
      put(value);
    else
      put(static_cast<float>(value));
    answer.results.push_back(std::move(result));
    return answer;
  }

  static constexpr double kFails = -12345;

 private:
  Op op_;
  ReplayStart start_;
};

ReplayerFactory fake(Op op) {
  return
      [op = std::move(op)](const ReplayStart& start) { return std::make_unique<Fake>(op, start); };
}

/// A run with one call of an op that is replayed.
struct OneOp {
  std::unique_ptr<MemoryRun> run;
  RecordedPlace place;
};

struct Call {
  double result = 1;
  std::uint16_t threads = 1;
  double input = 3;
  std::string op = "aten::sum";
  int draws = 0;
  bool bytes = true;
};

OneOp recorded(const Call& call) {
  RunBuilder builder;
  if (call.bytes) builder.keep_content();
  builder.step(0).phase(Phase::forward).threads(call.threads);
  OneOp one;
  {
    const Tensor input = builder.data({static_cast<float>(call.input)});
    EventBuilder event = builder.op(call.op);
    one.place.position = event.position();
    event.in(input, "self");
    if (call.draws > 0) event.draws(call.draws);
    event.out({static_cast<float>(call.result)});
  }
  one.run = builder.build();
  return one;
}

/// The same on a device of that c10::DeviceType.
OneOp on_device(OneOp op, std::uint8_t type) {
  for (auto& lane : op.run->stored)
    for (auto& event : lane.events)
      for (auto& slot : event.slots) slot.geometry.device_type = type;
  return op;
}

ReplayReport explained(const Call& a, const Call& b, const Op& op) {
  const OneOp first = recorded(a);
  const OneOp second = recorded(b);
  ReplayOptions options;
  options.most_threads = 2;
  return explain(*first.run, first.place, second.run.get(), second.place, fake(op), options);
}

ReplayReport explained(const Call& a, const Op& op) {
  const OneOp only = recorded(a);
  ReplayOptions options;
  options.most_threads = 2;
  return explain(*only.run, only.place, nullptr, {}, fake(op), options);
}

/// 1 with one thread, 2 with more; 1.25 in float64.
double by_threads(const ReplayStart&, const ReplayRequest& request) {
  if (request.precision == Precision::float64) return 1.25;
  return request.conditions.threads == 1 ? 1 : 2;
}

}  // namespace

TEST_SUITE("experiment") {
  TEST_CASE("the one condition that gives the other run's bits is named") {
    const ReplayReport report =
        explained({.result = 1, .threads = 1}, {.result = 2, .threads = 2}, by_threads);
    CHECK(report.outcome == ReplayOutcome::differs);
    CHECK(report.mechanism == "B's bits come out with 2 threads, A's with 1 thread");
    CHECK(report.summary == report.mechanism);
    CHECK(report.factor == ReplayFactor::threads);
    REQUIRE(report.nearer.has_value());
    CHECK(*report.nearer == 0);
    REQUIRE(report.runs[0].distance.has_value());
    CHECK(report.runs[0].distance->ulp_max == 1U << 21);
    CHECK(report.runs[0].proved());
    CHECK(report.runs[1].proved());
  }

  TEST_CASE("a condition that neither run was recorded in explains nothing") {
    const auto op = [](const ReplayStart&, const ReplayRequest& request) {
      return request.conditions.mkldnn ? 1.0 : 2.0;
    };
    const ReplayReport report = explained({.result = 1}, {.result = 2}, op);
    CHECK(report.mechanism.empty());
    CHECK(report.summary ==
          "what makes the difference is not known: B's bits come out with oneDNN off, "
          "and B was not recorded so");
    CHECK(report.runs[0].proved());
    CHECK_FALSE(report.runs[1].proved());
    CHECK(has(report.runs[1].failure, "1 of 1 element by up to 8,388,608 ULP"));
  }

  TEST_CASE("a level of kernels is set when the process is started") {
    const auto op = [](const ReplayStart& start, const ReplayRequest&) {
      for (const auto& variable : start.environment)
        if (variable.name == "ATEN_CPU_CAPABILITY" && variable.value == "default") return 2.0;
      return 1.0;
    };
    const OneOp a = recorded({.result = 1});
    const OneOp b = recorded({.result = 2});
    b.run->settings.push_back({kSetup, "cpu.capability", "DEFAULT"});
    const ReplayReport report = explain(*a.run, a.place, b.run.get(), b.place, fake(op));
    CHECK(report.factor == ReplayFactor::cpu_capability);
    CHECK(has(report.mechanism, "B's bits come out with ATen capability DEFAULT, A's with AVX2"));
  }

  TEST_CASE("an op that gives several results is not deterministic") {
    int calls = 0;
    const auto op = [&calls](const ReplayStart&, const ReplayRequest& request) {
      if (request.conditions.deterministic) return 1.0;
      return static_cast<double>(calls++ % 3);
    };
    const ReplayReport report = explained({.result = 1}, {.result = 2}, op);
    CHECK_FALSE(report.deterministic);
    CHECK(report.mechanism ==
          "5 repeats gave 3 results as A was recorded: the op itself is not deterministic; in "
          "deterministic mode all 2 repeats were equal");
    CHECK(report.outcome == ReplayOutcome::differs);
  }

  TEST_CASE("two conditions that only together give the bits are named together") {
    const auto op = [](const ReplayStart&, const ReplayRequest& request) {
      return request.conditions.threads == 2 && request.conditions.flush_denormal ? 2.0 : 1.0;
    };
    const OneOp a = recorded({.result = 1, .threads = 1});
    OneOp b = recorded({.result = 2, .threads = 2});
    for (auto& lane : b.run->stored)
      for (auto& event : lane.events) event.event.flags |= event_flag::flush_denormal;
    ReplayOptions options;
    options.most_threads = 2;
    const ReplayReport report = explain(*a.run, a.place, b.run.get(), b.place, fake(op), options);
    CHECK(report.factor == ReplayFactor::other_run);
    CHECK(report.mechanism ==
          "B's bits come out as B was recorded (2 threads, denormals flushed), with no single one "
          "of its conditions");
  }

  TEST_CASE("nothing is named if no run gives its recorded bits") {
    const auto op = [](const ReplayStart&, const ReplayRequest&) { return 7.0; };
    const ReplayReport report =
        explained({.result = 1, .threads = 1}, {.result = 2, .threads = 2}, op);
    CHECK(report.outcome == ReplayOutcome::trouble);
    CHECK(report.mechanism.empty());
    CHECK(report.factor == ReplayFactor::none);
    CHECK(has(report.summary, "neither run's op gives its recorded bits. A: replayed as it was"));
    CHECK(report.variants.size() == 2);
  }

  TEST_CASE(
      "several results in a condition that changes little say that the op is not deterministic") {
    int calls = 0;
    const auto op = [&calls](const ReplayStart&, const ReplayRequest& request) {
      return request.conditions.mkldnn ? 1.0 : 10.0 + ++calls;
    };
    const ReplayReport report = explained({.result = 1}, {.result = 2}, op);
    CHECK(has(report.mechanism,
              "2 repeats gave 2 results with oneDNN off: the op itself is not deterministic"));
    CHECK(report.deterministic);
  }

  TEST_CASE("nothing is named if nothing that was tried gives the bits") {
    const auto op = [](const ReplayStart&, const ReplayRequest&) { return 1.0; };
    const ReplayReport report = explained({.result = 1}, {.result = 2}, op);
    CHECK(report.outcome == ReplayOutcome::differs);
    CHECK(report.mechanism.empty());
    CHECK(has(report.summary, "nothing that was tried gives B's bits"));
  }

  TEST_CASE("changes are made to the run that gives its bits") {
    const auto op = [](const ReplayStart&, const ReplayRequest& request) {
      return request.conditions.mkldnn ? 2.0 : 1.0;
    };
    const ReplayReport report = explained({.result = 1}, {.result = 2}, op);
    CHECK(report.base == 1);
    CHECK(has(report.summary, "A's bits come out with oneDNN off, and A was not recorded so"));
  }

  TEST_CASE("equal results need no explanation") {
    const ReplayReport report = explained({.result = 1}, {.result = 1}, by_threads);
    CHECK(report.outcome == ReplayOutcome::same);
    CHECK(report.mechanism.empty());
  }

  TEST_CASE("different inputs come first, and each run's own are replayed") {
    const auto op = [](const ReplayStart&, const ReplayRequest& request) {
      float input = 0;
      std::memcpy(&input, request.inputs.at(0).bytes.data(), sizeof(input));
      return static_cast<double>(input) + 1;
    };
    const ReplayReport report = explained({.result = 4, .input = 3}, {.result = 6, .input = 5}, op);
    REQUIRE(report.unequal.size() == 1);
    CHECK(has(report.unequal[0], "self (1 of 1 element by up to"));
    CHECK(report.outcome == ReplayOutcome::differs);
    CHECK(has(report.summary, "the runs called the op with different self"));
    CHECK(has(report.summary, "each gives its recorded bits from its own"));
    CHECK(report.mechanism.empty());
    CHECK(report.variants.at(0).same_as[0] == 5);
    CHECK(report.variants.at(0).same_as[1] == 5);
  }

  TEST_CASE("with different inputs, conditions that matter as well are mentioned") {
    const auto op = [](const ReplayStart&, const ReplayRequest& request) {
      float input = 0;
      std::memcpy(&input, request.inputs.at(0).bytes.data(), sizeof(input));
      return static_cast<double>(input) + request.conditions.threads;
    };
    const ReplayReport report = explained({.result = 4, .threads = 1, .input = 3},
                                          {.result = 7, .threads = 2, .input = 5}, op);
    CHECK(has(report.summary,
              "each gives its recorded bits from its own; as B was recorded, A's inputs give other "
              "bits, too"));
  }

  TEST_CASE("of one run, what changes its bits is listed") {
    const ReplayReport report = explained({.result = 1, .threads = 1}, by_threads);
    CHECK(report.outcome == ReplayOutcome::same);
    CHECK(report.summary == "the op gives its recorded bits; they change with 2 threads");
  }

  TEST_CASE("one run that does not give its bits is trouble") {
    const ReplayReport report = explained({.result = 5}, by_threads);
    CHECK(report.outcome == ReplayOutcome::trouble);
    CHECK(has(report.summary, "the op does not give its recorded bits"));
  }

  TEST_CASE("an op that ends its process says so") {
    const auto op = [](const ReplayStart&, const ReplayRequest&) { return Fake::kFails; };
    const ReplayReport report = explained({.result = 1}, op);
    CHECK(report.outcome == ReplayOutcome::trouble);
    CHECK(has(report.summary, "the op ended the program that executed it"));
  }

  TEST_CASE("a variant that ends its process is a failed variant") {
    const auto op = [](const ReplayStart&, const ReplayRequest& request) {
      return request.conditions.deterministic ? Fake::kFails : 1.0;
    };
    const ReplayReport report = explained({.result = 1}, op);
    CHECK(report.outcome == ReplayOutcome::same);
    CHECK(std::count_if(report.variants.begin(), report.variants.end(),
                        [](const ReplayVariant& variant) { return !variant.failure.empty(); }) ==
          2);
  }

  TEST_CASE("a limit of oneDNN is tried as the other run had it") {
    const auto op = [](const ReplayStart& start, const ReplayRequest&) {
      std::string limit;
      for (const auto& variable : start.environment)
        if (variable.name == "ONEDNN_MAX_CPU_ISA") limit = variable.value.value_or("");
      return limit == "AVX2_VNNI" ? 2.0 : 1.0;
    };
    const OneOp a = recorded({.result = 1});
    const OneOp b = recorded({.result = 2});
    b.run->settings.push_back({kSetup, "env.ONEDNN_MAX_CPU_ISA", "AVX2_VNNI"});
    const ReplayReport report = explain(*a.run, a.place, b.run.get(), b.place, fake(op));
    CHECK(report.factor == ReplayFactor::onednn_isa);
    CHECK(report.mechanism ==
          "B's bits come out with oneDNN limited to AVX2_VNNI, A's with all that oneDNN can use");
  }

  TEST_CASE("random numbers and missing bytes are reasons") {
    const ReplayReport drawn = explained({.result = 1, .draws = 1}, by_threads);
    CHECK(has(drawn.summary, "it draws random numbers"));
    CHECK(drawn.outcome == ReplayOutcome::trouble);
    const ReplayReport without = explained({.result = 1, .bytes = false}, by_threads);
    CHECK(has(without.summary, "the bytes of an input are not in the dump"));
    CHECK(without.runs[0].lacks_bytes);
  }

  TEST_CASE("results that are not in a dump are not said to differ") {
    const ReplayReport report = explained({.result = 1}, {.result = 1, .bytes = false}, by_threads);
    CHECK(report.outcome == ReplayOutcome::trouble);
    CHECK(report.mechanism.empty());
    CHECK(report.summary ==
          "A gives its recorded bits, but B's are not known: the bytes of an input are not in the "
          "dump");
  }

  TEST_CASE("an op that ran on a GPU is replayed on one") {
    const auto op = [](const ReplayStart& start, const ReplayRequest& request) {
      const bool loaded = start.libraries == std::vector<std::string>{"libtorch_cuda.so"};
      return request.conditions.on_gpu && loaded && request.inputs.at(0).gpu == 0 ? 2.0 : 1.0;
    };
    const OneOp a = recorded({.result = 1});
    const OneOp b = on_device(recorded({.result = 2}), 1);
    const ReplayReport report = explain(*a.run, a.place, b.run.get(), b.place, fake(op));
    CHECK(report.runs[0].proved());
    CHECK(report.runs[1].proved());
    CHECK(report.factor == ReplayFactor::device);
    CHECK(report.mechanism == "B's bits come out on the GPU, A's on the CPU");
  }

  TEST_CASE("TF32 is tried on a GPU") {
    const auto op = [](const ReplayStart&, const ReplayRequest& request) {
      return request.conditions.matmul_precision == "high" ? 2.0 : 1.0;
    };
    const OneOp a = on_device(recorded({.result = 1}), 1);
    const OneOp b = on_device(recorded({.result = 2}), 1);
    b.run->settings.push_back({kSetup, "flag.matmul_precision", "high"});
    const ReplayReport report = explain(*a.run, a.place, b.run.get(), b.place, fake(op));
    CHECK(report.factor == ReplayFactor::tf32);
    CHECK(report.mechanism == "B's bits come out with TF32 in products, A's without it");
  }

  TEST_CASE("of an op on another device the recorded bits are compared") {
    constexpr std::uint8_t kXpu = 12;
    const OneOp a = recorded({.result = 1, .threads = 1});
    const OneOp b = on_device(recorded({.result = 2}), kXpu);
    ReplayOptions options;
    options.most_threads = 2;
    const ReplayReport report =
        explain(*a.run, a.place, b.run.get(), b.place, fake(by_threads), options);
    CHECK(report.outcome == ReplayOutcome::differs);
    CHECK(report.runs[1].failure == "it ran on a device on which ops are not replayed");
    CHECK(report.factor == ReplayFactor::none);
    CHECK(has(report.summary, "B's bits come out with 2 threads, and B was not recorded so"));
    REQUIRE(report.nearer.has_value());
    CHECK(*report.nearer == 0);
  }

  TEST_CASE("a LibTorch other than the recorded one is noted") {
    const OneOp one = recorded({.result = 1});
    one.run->settings.push_back({kSetup, "torch.version", "2.15.0"});
    one.run->settings.push_back({kSetup, "cpu.capability", "AVX512"});
    const ReplayReport report = explain(*one.run, one.place, nullptr, {}, fake(by_threads));
    REQUIRE(report.notes.size() == 2);
    CHECK(report.notes[0] == "A was recorded with LibTorch 2.15.0 and is replayed with 2.11.0");
    CHECK(report.notes[1] ==
          "A was recorded with ATen capability AVX512 and is replayed with AVX2");
  }

  TEST_CASE("wrong events and a missing replayer are errors") {
    const OneOp one = recorded({});
    const OneOp other = recorded({.op = "aten::mean"});
    const ReplayerFactory factory = fake(by_threads);
    RecordedPlace beyond = one.place;
    beyond.position = 1000;
    CHECK_THROWS_AS(static_cast<void>(explain(*one.run, beyond, nullptr, {}, factory)), Error);
    CHECK_THROWS_AS(
        static_cast<void>(explain(*one.run, one.place, other.run.get(), other.place, factory)),
        Error);
    const ReplayerFactory none = [](const ReplayStart&) { return nullptr; };
    CHECK_THROWS_AS(static_cast<void>(explain(*one.run, one.place, nullptr, {}, none)), Error);
  }

  TEST_CASE("the distance to float64 is counted in the result's dtype") {
    using comparison::experiment::true_distance;
    const auto tensor = [](Dtype dtype, auto number) {
      ReplayTensor made;
      made.dtype = dtype;
      made.bytes.resize(sizeof(number));
      std::memcpy(made.bytes.data(), &number, sizeof(number));
      return made;
    };
    const auto bfloat16 = [&](std::uint16_t bits) { return tensor(Dtype::bfloat16, bits); };
    const ReplayTensor truth = tensor(Dtype::float64, 1.0 + 1.9 / 128);
    CHECK(true_distance({bfloat16(0x3f82)}, {truth})->ulp_max == 0);
    CHECK(true_distance({bfloat16(0x3f81)}, {truth})->ulp_max == 1);
    CHECK(true_distance({bfloat16(0xbf82)}, {truth})->ulp_max == 2 * 0x3f82);
    CHECK(true_distance({bfloat16(0x7fc0)}, {truth})->nan == 1);
    CHECK(true_distance({tensor(Dtype::float32, 1.0F)}, {tensor(Dtype::float64, 1 + 0x1p-23)})
              ->ulp_max == 1);
    CHECK_FALSE(true_distance({tensor(Dtype::int64, std::int64_t{1})},
                              {tensor(Dtype::int64, std::int64_t{1})})
                    .has_value());
  }
}
