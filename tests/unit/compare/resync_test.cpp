#include <random>

#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

/// How the candidate's program differs before the op that returns a different result.
enum class PlantedEdit {
  insertion,        ///< ops whose results are not read
  deletion,         ///< the same in the reference
  replacement,      ///< an op in two parts
  other_modules,    ///< a module calls one more
  in_every_step,    ///< an insertion in all steps
  warm_up,          ///< a step before all others, without optimizer
  extra_step,       ///< a step in the middle, without optimizer
  missing_step,     ///< the reference has such a step
  two_extra_steps,  ///< two of them, in the middle
  validation,       ///< forwards without grad mode between two steps
  early_stop,       ///< the candidate ends first
  swapped_workers,  ///< batches are made by the other thread
};

struct Planted {
  PlantedEdit edit = PlantedEdit::insertion;
  int edit_step = 0;
  int step = 0;
  int op = 0;
};

/// A training program drawn from a seed. Every value is a function of what the op reads.
class EditedProgram {
 public:
  EditedProgram(unsigned seed, const Planted& planted, bool candidate)
      : seed_(seed), planted_(planted), candidate_(candidate) {}

  static constexpr int kSteps = 6;
  static constexpr int kOps = 14;

  std::uint64_t position = kNone;  ///< of the op with a different result
  std::string planted_op;
  std::optional<std::string> module;

  void run(RunBuilder& run) {
    for (int k = 0; k < 4; ++k)
      parameters_.push_back(run.parameter("p" + std::to_string(k), wide("p" + std::to_string(k))));
    for (int step = 0; step < kSteps; ++step) {
      if (has(PlantedEdit::early_stop) && step == planted_.step + 1) return;
      if (edits(PlantedEdit::warm_up, step) || edits(PlantedEdit::extra_step, step) ||
          edits(PlantedEdit::two_extra_steps, step))
        one_step(run, step, "extra", false);
      if (edits(PlantedEdit::two_extra_steps, step)) one_step(run, step, "more", false);
      if (planted_.edit == PlantedEdit::missing_step && !candidate_ && step == planted_.edit_step)
        one_step(run, step, "extra", false);
      if (edits(PlantedEdit::validation, step)) validate(run);
      one_step(run, step, "", true);
    }
  }

 private:
  [[nodiscard]] bool has(PlantedEdit edit) const { return candidate_ && planted_.edit == edit; }
  [[nodiscard]] bool edits(PlantedEdit edit, int step) const {
    return has(edit) && step == planted_.edit_step;
  }

  [[nodiscard]] static Values wide(const std::string& label) { return labelled(label, 12); }
  static Values content(RunBuilder& run, const std::vector<Tensor>& of, const std::string& salt) {
    std::string words = salt;
    for (const Tensor& tensor : of) words += run.content_words(tensor);
    return wide(words);
  }

  Tensor batch(RunBuilder& run, const std::string& label, int step) {
    const bool swapped = has(PlantedEdit::swapped_workers) && step >= planted_.edit_step;
    const auto worker = static_cast<std::uint32_t>((step + (swapped ? 1 : 0)) % 2);
    run.lane(LaneRole::worker, worker).phase(Phase::data);
    const Tensor image = run.data(wide("image" + label));
    const Tensor made = run.op("aten::sub").in(image).out(content(run, {image}, "batch"));
    run.lane(LaneRole::main, 0);
    return made;
  }

  void validate(RunBuilder& run) {
    run.phase(Phase::eval);
    for (int pass = 0; pass < 3; ++pass) {
      Tensor x = run.data(wide("validation" + std::to_string(pass)));
      for (int op = 0; op < kOps; ++op) x = apply(run, "aten::op0", {x, parameters_[0]});
    }
  }

  void one_step(RunBuilder& run, int step, const std::string& extra, bool trains) {
    std::mt19937 shape(seed_);
    run.step(number_++).phase(Phase::forward);
    const std::string label = std::to_string(step) + extra;
    std::vector<Tensor> values{batch(run, label, step)};
    run.phase(Phase::forward);
    std::vector<std::uint64_t> made_by;
    for (int op = 0; op < kOps; ++op) {
      const std::vector<Tensor> inputs{values.back(), values[shape() % values.size()],
                                       parameters_[shape() % parameters_.size()]};
      const std::string name = "aten::op" + std::to_string(shape() % 4);
      const bool in_module = shape() % 3 != 0;
      const std::string path = "layer" + std::to_string(op);
      Tensor result;
      const auto body = [&] {
        if (extra.empty()) edit_before(run, inputs, step, op);
        made_by.push_back(run.next_position());
        result = edited_op(run, name, inputs, extra.empty() ? step : -1, op);
      };
      if (in_module)
        run.module(path, body);
      else
        body();
      if (extra.empty() && candidate_ && step == planted_.step && op == planted_.op)
        module = in_module ? std::optional(path) : std::nullopt;
      values.push_back(result);
    }
    run.backward(true);
    Tensor gradient = apply(run, "aten::ones_like", {values.back()});
    std::vector<Tensor> gradients(parameters_.size(), gradient);
    for (int op = kOps; op-- > 0;) {
      const auto at = static_cast<std::size_t>(op);
      run.node("Op" + std::to_string(op) + "Backward0", made_by[at], [&] {
        gradient = apply(run, "aten::mul", {gradient, values[at]});
      });
      gradients[at % gradients.size()] = gradient;
    }
    run.backward(false);
    for (std::size_t k = 0; trains && k < parameters_.size(); ++k)
      run.op("aten::add_")
          .in(parameters_[k], "self")
          .in(gradients[k], "other")
          .writes(parameters_[k], content(run, {parameters_[k], gradients[k]}, "add_"));
  }

  void edit_before(RunBuilder& run, const std::vector<Tensor>& inputs, int step, int op) {
    const bool here = step == planted_.edit_step && op == edit_op();
    const bool always = has(PlantedEdit::in_every_step) && op == edit_op();
    const bool deleted = planted_.edit == PlantedEdit::deletion && !candidate_ && here;
    if ((has(PlantedEdit::insertion) && here) || deleted || always)
      for (unsigned k = 0; k <= seed_ % 4; ++k)
        (void)apply(run, "aten::op" + std::to_string((seed_ + k) % 4), {inputs[0]}, "unread");
    if (has(PlantedEdit::other_modules) && here)
      run.module("other", [&] { (void)apply(run, "aten::op1", {inputs[1]}, "unread"); });
  }

  /// Before the op with a different result: in its step, the op before it at the latest.
  [[nodiscard]] int edit_op() const {
    return planted_.step == planted_.edit_step ? std::max(0, planted_.op - 1) : planted_.op;
  }

  Tensor edited_op(RunBuilder& run, const std::string& name, const std::vector<Tensor>& inputs,
                   int step, int number) {
    if (edits(PlantedEdit::replacement, step) && number == edit_op() && number != planted_.op) {
      const Tensor half = apply(run, "aten::half", inputs);
      return run.op("aten::other_half").in(half).out(content(run, inputs, name));
    }
    const bool planted = candidate_ && step == planted_.step && number == planted_.op;
    if (planted) {
      position = run.next_position();
      planted_op = name;
    }
    return apply(run, name, inputs, planted ? "'" : "");
  }

  static Tensor apply(RunBuilder& run, const std::string& name, const std::vector<Tensor>& inputs,
                      const std::string& salt = {}) {
    EventBuilder event = run.op(name);
    for (const Tensor& tensor : inputs) event.in(tensor, "tensor");
    return event.out(content(run, inputs, name + salt));
  }

  unsigned seed_;
  Planted planted_;
  bool candidate_;
  int number_ = 0;
  std::vector<Tensor> parameters_;
};

/// The origin after an edit is the only finding that diverges, and it is the planted op.
void check_origin_behind(PlantedEdit edit) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    Planted planted{edit, 0, 0, static_cast<int>(1 + seed * 5 % (EditedProgram::kOps - 1))};
    planted.step = 1 + static_cast<int>(seed % (EditedProgram::kSteps - 2));
    planted.edit_step =
        edit == PlantedEdit::warm_up ? 0 : planted.step - static_cast<int>(seed / 7 % 2);
    CAPTURE(seed);
    EditedProgram reference(seed, planted, false);
    EditedProgram candidate(seed, planted, true);
    const Report report = report_of([&](RunBuilder& run) { reference.run(run); },
                                    [&](RunBuilder& run) { candidate.run(run); });
    CAPTURE(report.summary);
    REQUIRE(report.first() != nullptr);
    const Finding& first = *report.first();
    const int later = edit == PlantedEdit::missing_step ? 1 : 0;
    CHECK(first.kind == FindingKind::origin);
    CHECK(first.step == planted.step + later);
    CHECK(first.op == candidate.planted_op);
    CHECK(first.module == candidate.module);
    CHECK(first.event.candidate == candidate.position);
    CHECK(diverging(report) == 1);
    if (diverging(report) != 1) return;
  }
}

}  // namespace

TEST_SUITE("an origin behind a change of structure is named: ") {
  TEST_CASE("insertion") { check_origin_behind(PlantedEdit::insertion); }
  TEST_CASE("deletion") { check_origin_behind(PlantedEdit::deletion); }
  TEST_CASE("replacement") { check_origin_behind(PlantedEdit::replacement); }
  TEST_CASE("one more module") { check_origin_behind(PlantedEdit::other_modules); }
  TEST_CASE("insertion in every step") { check_origin_behind(PlantedEdit::in_every_step); }
  TEST_CASE("warm-up step") { check_origin_behind(PlantedEdit::warm_up); }
  TEST_CASE("extra step") { check_origin_behind(PlantedEdit::extra_step); }
  TEST_CASE("missing step") { check_origin_behind(PlantedEdit::missing_step); }
  TEST_CASE("two extra steps") { check_origin_behind(PlantedEdit::two_extra_steps); }
  TEST_CASE("validation pass") { check_origin_behind(PlantedEdit::validation); }
  TEST_CASE("run that stops early") { check_origin_behind(PlantedEdit::early_stop); }
  TEST_CASE("worker lanes that swap") { check_origin_behind(PlantedEdit::swapped_workers); }
}
