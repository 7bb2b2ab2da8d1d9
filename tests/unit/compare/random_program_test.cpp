#include <random>

#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

/// What is done to the candidate at one op of a random program.
enum class Plant { nothing, other_result, other_argument, extra_op, raw_write, extra_draw };

struct Planted {
  Plant plant = Plant::nothing;
  int step = 0;
  int op = 0;  ///< number of the forward op in its step
};

/// A small training program drawn from a seed. Every value is a function of what the op reads, so
/// that a change spreads exactly as data flows.
class RandomProgram {
 public:
  RandomProgram(unsigned seed, const Planted& planted) : seed_(seed), planted_(planted) {}

  static constexpr int kSteps = 3;
  static constexpr int kOps = 12;

  /// Name and position of the op that the plant sits at.
  std::string planted_op;
  std::uint64_t planted_position = kNone;

  /// Position of the first op that draws after an extra draw was planted.
  std::uint64_t next_draw = kNone;

  void run(RunBuilder& builder) {
    RunBuilder& run = builder;
    std::vector<Tensor> parameters;
    for (int k = 0; k < 3; ++k)
      parameters.push_back(
          run.parameter("p" + std::to_string(k), labelled("p" + std::to_string(k))));
    for (int step = 0; step < kSteps; ++step) {
      std::mt19937 shape(seed_);  // every step has the same ops
      run.step(step).phase(Phase::forward);
      std::vector<Tensor> values{run.data(labelled("x" + std::to_string(step)))};
      std::vector<std::uint64_t> made_by;
      for (int op = 0; op < kOps; ++op) {
        const Tensor& left = values.back();
        const Tensor& right = values[shape() % values.size()];
        const Tensor& parameter = parameters[shape() % parameters.size()];
        const bool in_module = shape() % 2 == 0;
        const unsigned kind = shape() % 4;
        const bool here = step == planted_.step && op == planted_.op;
        if (here) plant_before(run, left);
        Tensor result;
        const auto body = [&] {
          made_by.push_back(run.next_position());
          result =
              one_op(run, "aten::op" + std::to_string(kind), kind, {left, right, parameter}, here);
        };
        if (in_module)
          run.module("layer" + std::to_string(op), body);
        else
          body();
        values.push_back(result);
      }
      run.backward(true);
      Tensor gradient = one_op(run, "aten::ones_like", 0, {values.back()}, false);
      std::vector<Tensor> gradients(parameters.size(), gradient);
      for (int op = kOps; op-- > 0;) {
        run.node("Op" + std::to_string(op) + "Backward0", made_by[static_cast<std::size_t>(op)],
                 [&] {
                   gradient = one_op(run, "aten::mul", 0,
                                     {gradient, values[static_cast<std::size_t>(op)]}, false);
                 });
        gradients[static_cast<std::size_t>(op) % gradients.size()] = gradient;
      }
      run.backward(false);
      for (std::size_t k = 0; k < parameters.size(); ++k)
        run.op("aten::add_")
            .in(parameters[k], "self")
            .in(gradients[k], "other")
            .writes(parameters[k], content(run, {parameters[k], gradients[k]}, "add_"));
    }
  }

 private:
  static Values content(RunBuilder& run, const std::vector<Tensor>& of, const std::string& salt) {
    std::string words = salt;
    for (const Tensor& tensor : of) words += run.content_words(tensor);
    return labelled(words);
  }

  void plant_before(RunBuilder& run, const Tensor& read) {
    if (planted_.plant == Plant::extra_op) run.op("aten::cat").in(read).out(labelled("unused"));
    if (planted_.plant == Plant::extra_draw) {
      run.op("aten::rand").draws(1).out(labelled("unused"));
      drew_ = true;
    }
    if (planted_.plant == Plant::raw_write) run.overwrite(read, labelled("poked"));
  }

  Tensor one_op(RunBuilder& run, const std::string& name, unsigned kind,
                const std::vector<Tensor>& inputs, bool planted) {
    if (planted) {
      planted_position = run.next_position();
      planted_op = name;
    }
    std::string salt = name;
    if (planted && planted_.plant == Plant::other_result) salt += "'";
    const bool argument = planted && planted_.plant == Plant::other_argument;
    if (argument) salt += "argument";
    const auto read_all = [&](EventBuilder& event) -> EventBuilder& {
      for (const Tensor& tensor : inputs) event.in(tensor, "tensor");
      return event.arg("eps", argument ? 2 : 1);
    };
    if (kind == 1) {  // a composite with the work inside
      return run.composite(name, [&](EventBuilder& outer) {
        read_all(outer);
        EventBuilder inner = run.op(name + "_inner");
        if (planted && planted_.plant == Plant::other_result) {
          planted_position = inner.position();
          planted_op = name + "_inner";
        }
        return read_all(inner).out(content(run, inputs, salt));
      });
    }
    if (kind == 2 && drew_ && next_draw == kNone) next_draw = run.next_position();
    EventBuilder event = run.op(name);
    read_all(event);
    if (kind == 2) {  // draws a mask
      salt += std::to_string(run.drawn());
      event.draws(1);
    }
    if (kind == 3) {  // uses its own memory that starts as garbage
      const Tensor scratch =
          run.op("aten::empty")
              .out_uninitialised(labelled("garbage" + std::to_string(run.next_position())));
      run.op("aten::copy_")
          .given(scratch)
          .in(inputs[0])
          .writes(scratch, content(run, {inputs[0]}, ""));
    }
    return event.out(content(run, inputs, salt));
  }

  unsigned seed_;
  Planted planted_;
  bool drew_ = false;
};

struct Answer {
  Report report;
  std::string op;
  std::uint64_t position = kNone;
  std::uint64_t next_draw = kNone;
};

[[nodiscard]] Answer answer(unsigned seed, const Planted& planted) {
  RandomProgram reference(seed, {});
  RandomProgram candidate(seed, planted);
  Answer result;
  result.report = report_of([&](RunBuilder& run) { reference.run(run); },
                            [&](RunBuilder& run) { candidate.run(run); });
  result.op = candidate.planted_op;
  result.position = candidate.planted_position;
  result.next_draw = candidate.next_draw;
  return result;
}

template <class Check>
void for_random_programs(Plant plant, Check check) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Planted planted{plant, static_cast<int>(seed % RandomProgram::kSteps),
                          static_cast<int>(seed * 7 % RandomProgram::kOps)};
    CAPTURE(seed);
    check(answer(seed, planted), planted);
  }
}

}  // namespace

TEST_SUITE("random programs") {
  TEST_CASE("are identical to themselves") {
    for_random_programs(Plant::nothing, [](const Answer& answer, const Planted&) {
      CHECK(answer.report.verdict == Verdict::identical);
      CHECK(answer.report.findings.empty());
    });
  }

  TEST_CASE("one op with another result is the only origin") {
    for_random_programs(Plant::other_result, [](const Answer& answer, const Planted& planted) {
      REQUIRE(answer.report.findings.size() == 1);
      const Finding& finding = answer.report.findings[0];
      CHECK(finding.kind == FindingKind::origin);
      CHECK(finding.op == answer.op);
      CHECK(finding.step == planted.step);
      CHECK(finding.event.candidate == answer.position);
    });
  }

  TEST_CASE("one other argument is the only finding") {
    for_random_programs(Plant::other_argument, [](const Answer& answer, const Planted& planted) {
      REQUIRE(answer.report.findings.size() == 1);
      const Finding& finding = answer.report.findings[0];
      CHECK(finding.kind == FindingKind::arguments);
      CHECK(finding.op == answer.op);
      CHECK(finding.step == planted.step);
      CHECK(finding.event.candidate == answer.position);
    });
  }

  TEST_CASE("one op too many is harmless") {
    for_random_programs(Plant::extra_op, [](const Answer& answer, const Planted& planted) {
      CHECK(answer.report.verdict == Verdict::identical);
      REQUIRE(answer.report.findings.size() == 1);
      CHECK(answer.report.findings[0].op == "aten::cat");
      CHECK(answer.report.findings[0].step == planted.step);
    });
  }

  TEST_CASE("one write behind the recorder is found at its first reader") {
    for_random_programs(Plant::raw_write, [](const Answer& answer, const Planted& planted) {
      REQUIRE(answer.report.findings.size() == 1);
      const Finding& finding = answer.report.findings[0];
      // The first op of a step reads the batch, which no op wrote: its content is other data.
      CHECK(finding.kind == (planted.op == 0 ? FindingKind::data : FindingKind::write));
      CHECK(finding.op == answer.op);
      CHECK(finding.event.candidate == answer.position);
    });
  }

  TEST_CASE("one draw too many shows at the next op that draws") {
    int shifted = 0;
    for_random_programs(Plant::extra_draw, [&](const Answer& answer, const Planted& planted) {
      const auto& findings = answer.report.findings;
      const bool draws_later = answer.next_draw != kNone;
      shifted += draws_later ? 1 : 0;
      REQUIRE_FALSE(findings.empty());
      CHECK(answer.report.verdict == Verdict::diverged);
      bool named = false;
      for (const Finding& finding : findings) {
        CAPTURE(finding.op);
        if (finding.op == "aten::rand") {
          CHECK(finding.kind == FindingKind::sequence);
          CHECK(finding.step == planted.step);
          named = true;
        } else {
          CHECK(finding.kind == FindingKind::rng);
          CHECK(finding.event.candidate == answer.next_draw);
        }
      }
      CHECK(named);
    });
    CHECK(shifted > 0);
  }
}
