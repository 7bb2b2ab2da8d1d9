#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "compare/model/value_match.hpp"
#include "compare/model/words.hpp"
#include "compare/report/causes/rules.hpp"
#include "core/counts.hpp"
#include "core/glob.hpp"

namespace ulpscope::comparison::causes {
namespace {

[[nodiscard]] std::string argument_words(const ArgumentReport& argument) {
  return fmt::format("{} is {} and {}", argument.name, argument.reference.value_or("missing"),
                     argument.candidate.value_or("missing"));
}

/// The argument is a tensor that the op reads.
[[nodiscard]] bool is_tensor(const Finding& finding, const ArgumentReport& argument) {
  return std::any_of(finding.tensors.begin(), finding.tensors.end(), [&](const auto& tensor) {
    return tensor.role == Role::input && tensor.name == argument.name;
  });
}

[[nodiscard]] bool is_number(const ArgumentReport& argument) {
  return argument.reference && number_in(*argument.reference);
}

/// Fills a tensor that is shaped like a parameter.
[[nodiscard]] bool fills_state(std::string_view op) {
  return op == "aten::zeros_like" || op == "aten::full_like" || op == "aten::ones_like";
}

/// What Python's `torch.tensor(0.0)` and `torch.zeros(())`, the counts of an optimizer's steps,
/// consist of, and what follows a copy.
[[nodiscard]] bool is_of_new_tensor(std::string_view op) {
  static constexpr std::array<std::string_view, 7> kOps{
      "aten::empty",   "aten::to",    "aten::lift_fresh", "aten::detach",
      "aten::detach_", "aten::zeros", "aten::ones"};
  return std::find(kOps.begin(), kOps.end(), op) != kOps.end();
}

[[nodiscard]] const ArgumentReport* mode_argument(const Finding& finding) {
  const auto at =
      std::find_if(finding.arguments.begin(), finding.arguments.end(),
                   [](const ArgumentReport& argument) { return is_mode(argument.name); });
  return at == finding.arguments.end() ? nullptr : &*at;
}

/// An optimizer that is set otherwise may keep another state: none without a momentum. A number
/// that is zero in no run only scales.
[[nodiscard]] bool decides_state(const ArgumentReport& option) {
  const auto scales = [](const std::optional<std::string>& value) {
    return value && number_in(*value).value_or(0) != 0;
  };
  return !scales(option.reference) || !scales(option.candidate);
}

/// A hyperparameter of the optimizer around the op.
[[nodiscard]] bool is_option(const ArgumentReport& argument) { return !argument.of.empty(); }

[[nodiscard]] std::string model_words(const ModelDifference& model) {
  const std::string path = model.path.empty() ? model.root : model.path;
  if (model.what == ModelAspect::tensor)
    return fmt::format("only the {} has {}",
                       name(model.reference ? Side::reference : Side::candidate), path);
  const bool is_shape = model.what == ModelAspect::shape;
  return fmt::format("{}{} is {} and {}", is_shape ? "" : fmt::format("{} of ", name(model.what)),
                     path, *model.reference, *model.candidate);
}

/// What makes models compute something else, apart from which of their parameters are trained.
[[nodiscard]] bool is_structure(const ModelDifference& model) {
  return model.what != ModelAspect::requires_grad;
}

/// One of the finding's tensors is the parameter or buffer that has another shape in the other run.
[[nodiscard]] bool is_of_finding(const ModelDifference& model, const Finding& finding) {
  return std::any_of(finding.tensors.begin(), finding.tensors.end(),
                     [&](const TensorReport& tensor) {
                       return !tensor.equal && tensor.name == model.path &&
                              (tensor.shape.reference != tensor.shape.candidate);
                     });
}

[[nodiscard]] bool makes_other_parameter(const Case& of) {
  const auto& models = of.report().models;
  return std::any_of(models.begin(), models.end(), [&](const ModelDifference& model) {
    return is_structure(model) && is_of_finding(model, of.finding());
  });
}

[[nodiscard]] bool have_other_shapes(const std::vector<ModelDifference>& models) {
  return std::any_of(models.begin(), models.end(),
                     [](const ModelDifference& model) { return model.what == ModelAspect::shape; });
}

/// Which parameters are trained, where one run alone has the gradients of some.
void add_trained(const Case& of, Cause& cause) {
  if (of.finding().phase != Phase::backward && of.finding().phase != Phase::optimizer) return;
  std::vector<std::string> changed;
  for (const ModelDifference& model : of.report().models)
    if (model.what == ModelAspect::requires_grad) changed.push_back(model_words(model));
  if (!changed.empty()) cause.evidence.push_back(listed(changed, 3));
}

/// The run that alone updates parameters in lists (torch/optim: `foreach`).
[[nodiscard]] std::optional<Side> only_in_lists(const Case& of) {
  const auto in_lists = [&](Side side) {
    const auto& ops = on(of.evidence().alone, side);
    return std::any_of(ops.begin(), ops.end(), [](const std::string& op) {
      return op.starts_with("aten::_foreach_") || op.starts_with("aten::_fused_");
    });
  };
  const auto& updates = of.evidence().alone_updates;
  const bool updates_none = updates.reference.empty() && updates.candidate.empty();
  if (of.finding().phase != Phase::optimizer || updates_none ||
      in_lists(Side::reference) == in_lists(Side::candidate))
    return std::nullopt;
  return in_lists(Side::reference) ? Side::reference : Side::candidate;
}

}  // namespace

std::optional<Cause> argument(const Case& of) {
  const auto& all = of.finding().arguments;
  const bool set_otherwise =
      diverging_sequence(of) && std::any_of(all.begin(), all.end(), is_option);
  if ((!of.is(FindingKind::arguments) && !set_otherwise) || has_other_code(of) ||
      makes_other_parameter(of))
    return std::nullopt;
  // That other samples are picked says more.
  const bool may_follow = of.evidence().may_follow;
  const bool is_open = set_otherwise || may_pick_samples(of);
  Cause cause = of.cause("argument", picks_samples(of) || may_follow ? Confidence::possible
                                     : is_open                       ? Confidence::likely
                                                                     : Confidence::certain);
  for (const ArgumentReport& report : all)
    cause.evidence.push_back(
        of.evidence().returned
            ? fmt::format("it returns the {} in the reference, the {} in the candidate",
                          report.reference.value_or(""), report.candidate.value_or(""))
        : is_tensor(of.finding(), report) && !is_number(report)
            ? fmt::format("{} is given a different {} as {}", of.finding().op,
                          of.evidence().wrapped_number ? "number" : "tensor", report.name)
            : fmt::format("{} of {}", argument_words(report),
                          is_option(report) ? report.of : of.finding().op));
  add_trained(of, cause);
  if (may_follow)
    cause.against.emplace_back(
        "it may follow from a finding before: the program goes on otherwise");
  if (of.evidence().same_tensors)
    cause.evidence.emplace_back("it reads the same tensors in both runs, in a different order");
  add_notes(of, cause);
  return cause;
}

std::optional<Cause> mode(const Case& of) {
  if (of.is(FindingKind::arguments)) {
    const ArgumentReport* const argument = mode_argument(of.finding());
    if (argument == nullptr) return std::nullopt;
    Cause cause = of.cause("mode", Confidence::certain);
    cause.evidence = {argument_words(*argument)};
    cause.attempt = {"call train() or eval() the same way in both programs"};
    return cause;
  }
  if (!diverging_sequence(of) || !of.finding().step) return std::nullopt;
  for (const Side side : kSides) {
    const auto& names = on(of.evidence().alone_names, side);
    const auto& ops = on(of.evidence().alone, side);
    const auto counts = std::count_if(names.begin(), names.end(), [](const std::string& tensor) {
      return core::glob_match("*num_batches_tracked", tensor);
    });
    // If the ops read weights too, they are a piece of the program that only one run has.
    if (counts != std::ssize(names)) continue;
    const bool counts_batches = counts > 0;
    const bool drops = std::any_of(ops.begin(), ops.end(), [](const std::string& op) {
      return op.find("dropout") != std::string::npos || op.find("bernoulli") != std::string::npos;
    });
    if (!counts_batches && !drops) continue;
    // Other elements are dropped with a probability of 0, too, which programs test for.
    Cause cause = of.cause("mode", counts_batches ? Confidence::likely : Confidence::possible);
    cause.evidence = {
        counts_batches
            ? fmt::format("only the {} counts batches for its running statistics", name(side))
            : fmt::format("only the {} drops elements", name(side))};
    cause.attempt = {"call train() or eval() the same way in both programs"};
    return cause;
  }
  return std::nullopt;
}

std::optional<Cause> buffer_update(const Case& of) {
  if (!of.is(FindingKind::arguments) && !of.is(FindingKind::origin)) return std::nullopt;
  std::vector<std::string> buffers;
  bool outputs_equal = true;
  for (std::size_t k = 0; k < of.finding().tensors.size(); ++k) {
    const TensorReport& tensor = of.finding().tensors[k];
    if (tensor.equal) continue;
    if (tensor.role == Role::output) outputs_equal = false;
    const auto& flags = of.evidence().tensors[k].flags;
    const bool buffer = (flags.reference | flags.candidate) & slot_flag::buffer;
    if (tensor.role == Role::mutated && buffer)
      buffers.push_back(tensor.name.empty() ? "a buffer" : tensor.name);
  }
  if (buffers.empty() || !outputs_equal) return std::nullopt;
  Cause cause = of.cause("buffer-update", Confidence::likely);
  cause.evidence = {fmt::format("all results are equal, {} differs after the op", listed(buffers))};
  return cause;
}

std::optional<Cause> resume(const Case& of) {
  const auto& options = of.finding().arguments;
  if (!diverging_sequence(of) || of.finding().phase != Phase::optimizer ||
      std::ranges::any_of(options, decides_state))
    return std::nullopt;
  for (const Side side : kSides) {
    const Side other = the_other(side);
    const auto& ops = on(of.evidence().alone, side);
    const auto& others = on(of.evidence().alone, other);
    const auto makes = [&](auto is_state) {
      return std::ranges::any_of(ops, is_state) &&
             std::ranges::all_of(ops, [&](const std::string& one) {
               return is_state(one) || is_of_new_tensor(one);
             });
    };
    const auto is_copy = [](std::string_view op) { return op == "aten::clone"; };
    // Adam and its kin begin with zeros; a momentum begins as a copy of the gradient.
    const bool zeros = makes(fills_state) && others.empty();
    const bool copies = makes(is_copy) && !others.empty();
    if (!zeros && !copies) continue;
    Cause cause = of.cause("resume", Confidence::likely);
    cause.evidence = {
        fmt::format("only the {} re-initializes the optimizer's state ({}), the {} has one already",
                    name(side), listed(ops), name(other))};
    cause.attempt = {"save and load the optimizer together with the model"};
    return cause;
  }
  return std::nullopt;
}

std::optional<Cause> other_model(const Case& of) {
  const auto& models = of.report().models;
  const bool here = makes_other_parameter(of);
  const bool makes_models = diverging_sequence(of) || of.is(FindingKind::arguments) ||
                            (of.is(FindingKind::data) && reads_state(of));
  const bool concerns = here || (!of.finding().step && makes_models);
  if (!concerns || !std::any_of(models.begin(), models.end(), is_structure)) return std::nullopt;
  Cause cause = of.cause("structure", here ? Confidence::certain : Confidence::likely);
  std::vector<std::string> differ;
  for (const bool of_finding : {true, false})
    for (const ModelDifference& model : models)
      if (is_structure(model) && is_of_finding(model, of.finding()) == of_finding)
        differ.push_back(model_words(model));
  constexpr std::size_t kListed = 3;
  for (std::size_t k = 0; k < std::min(kListed, differ.size()); ++k)
    cause.evidence.push_back(differ[k]);
  if (differ.size() > kListed)
    cause.evidence.push_back(
        fmt::format("{} of the models", core::counted(differ.size() - kListed, "more difference")));
  return cause;
}

std::optional<Cause> structure(const Case& of) {
  if (!diverging_sequence(of) || other_model(of)) return std::nullopt;
  Cause cause = of.cause("structure", Confidence::likely);
  for (const Side side : kSides)
    if (const auto& ops = on(of.evidence().alone, side); !ops.empty())
      cause.evidence.push_back(fmt::format("only the {} runs {}", name(side), listed(ops)));
  if (of.evidence().moved)
    cause.evidence.emplace_back("the other run updates the same parameters at a different place");
  if (const auto side = only_in_lists(of))
    cause.evidence.push_back(fmt::format(
        "the optimizer updates lists of parameters in the {} only, as it does by default on a GPU: "
        "set its foreach (or fused) to the same value in both programs",
        name(*side)));
  add_trained(of, cause);
  const std::string& more = of.evidence().left_alone;
  cause.evidence.push_back(
      more.empty() || of.effect() ? "values that both runs have after it differ" : more);
  return cause;
}

std::optional<Cause> harmless_rewrite(const Case& of) {
  if (of.report().verdict != Verdict::identical || of.finding().goes_on) return std::nullopt;
  const Coverage& coverage = of.report().coverage;
  if (const auto& absorbed = of.finding().absorbed) {
    Cause cause = of.cause("harmless-rewrite",
                           coverage.outcomes_recorded ? Confidence::certain : Confidence::likely);
    cause.evidence = {fmt::format(
        "{}; values in between do too, up to {}, and no outcome does",
        of.is(FindingKind::arguments) ? "arguments differ" : "the op lists differ", absorbed->op)};
    return cause;
  }
  Cause cause = of.cause("harmless-rewrite", Confidence::certain);
  cause.evidence = {"the op lists differ, and every value that both runs have is equal"};
  return cause;
}

std::optional<Cause> dtype(const Case& of) {
  const auto& flags = of.evidence().event_flags;
  const bool autocast_differs = (flags.reference ^ flags.candidate) & event_flag::autocast;
  if (of.is(FindingKind::origin) && autocast_differs && of.evidence().inside_differs) {
    Cause cause = of.cause("dtype", Confidence::likely);
    cause.evidence = {"autocast is on in one run only",
                      "the ops it calls inside differ, or have different dtypes or shapes"};
    return cause;
  }
  const auto told = [&](const TensorReport& tensor,
                        const Both<Geometry>& geometry) -> std::optional<Cause> {
    if (tensor.equal || geometry.reference.dtype == geometry.candidate.dtype) return std::nullopt;
    Cause cause = of.cause("dtype", Confidence::certain);
    cause.evidence = {fmt::format("{} is {} and {}", tensor.name.empty() ? "a tensor" : tensor.name,
                                  ulpscope::name(geometry.reference.dtype),
                                  ulpscope::name(geometry.candidate.dtype))};
    if (autocast_differs)
      cause.evidence.emplace_back("autocast is on in one run only");
    else if ((flags.reference ^ flags.candidate) & event_flag::autocast_other)
      cause.evidence.emplace_back("autocast has another dtype in each run");
    return cause;
  };
  if (of.effect()) return told(of.effect()->tensor.report, of.effect()->tensor.evidence.geometry);
  if (!of.is(FindingKind::metadata)) return std::nullopt;
  for (std::size_t k = 0; k < of.finding().tensors.size(); ++k)
    if (auto cause = told(of.finding().tensors[k], of.evidence().tensors[k].geometry)) return cause;
  return std::nullopt;
}

std::optional<Cause> reduced_precision(const Case& of) {
  if (!diverging_sequence(of)) return std::nullopt;
  for (const Side side : kSides) {
    const std::size_t casts = on(of.evidence().alone_casts, side);
    if (casts < 2) continue;
    Cause cause = of.cause("reduced-precision", Confidence::possible);
    cause.evidence = {
        fmt::format("only the {} converts tensors to a different dtype and back ({} conversions)",
                    name(side), casts)};
    return cause;
  }
  return std::nullopt;
}

std::optional<Cause> batch_size(const Case& of) {
  if (have_other_shapes(of.report().models)) return std::nullopt;
  for (std::size_t k = 0; of.is(FindingKind::metadata) && k < of.finding().tensors.size(); ++k) {
    const TensorReport& tensor = of.finding().tensors[k];
    const auto& flags = of.evidence().tensors[k].flags;
    constexpr std::uint32_t kOfModel =
        slot_flag::parameter | slot_flag::buffer | slot_flag::gradient;
    if (tensor.equal || ((flags.reference | flags.candidate) & kOfModel) ||
        !is_other_batch(tensor.shape.reference, tensor.shape.candidate))
      continue;
    Cause cause = of.cause("batch-size", Confidence::likely);
    cause.evidence = {fmt::format("only the first dimension differs: {} and {}",
                                  tensor.shape.reference.front(), tensor.shape.candidate.front())};
    return cause;
  }
  if (!prepares_data(of.finding()) || !of.runs().other_batch) return std::nullopt;
  Cause cause = of.cause("batch-size", Confidence::likely);
  cause.evidence = {"data is prepared here, and batches of a different size are read after it"};
  return cause;
}

std::optional<Cause> scale(const Case& of) {
  const auto told = [&](const std::optional<double>& ratio) -> std::optional<Cause> {
    if (!ratio) return std::nullopt;
    Cause cause = of.cause("scale", Confidence::likely);
    cause.evidence = {
        fmt::format("the candidate is {} times the reference, element by element", *ratio)};
    return cause;
  };
  if (of.effect()) return told(of.effect()->tensor.evidence.ratio);
  if (!of.is(FindingKind::origin)) return std::nullopt;
  for (std::size_t k = 0; k < of.finding().tensors.size(); ++k) {
    if (of.finding().tensors[k].equal) continue;
    if (auto cause = told(of.evidence().tensors[k].ratio)) return cause;
  }
  return std::nullopt;
}

std::optional<Cause> nan(const Case& of) {
  const auto told = [&](const TensorReport& tensor) -> std::optional<Cause> {
    if (!tensor.difference) return std::nullopt;
    const ClassCount& count = tensor.difference->nan;
    if ((count.reference == 0) == (count.candidate == 0)) return std::nullopt;
    Cause cause = of.cause("nan", Confidence::likely);
    cause.evidence = {fmt::format("the result has {} NaN in the reference and {} in the candidate",
                                  count.reference, count.candidate)};
    return cause;
  };
  if (of.effect()) return told(of.effect()->tensor.report);
  if (!of.is(FindingKind::origin)) return std::nullopt;
  for (const TensorReport& tensor : of.finding().tensors) {
    if (tensor.equal || tensor.role == Role::input) continue;
    if (auto cause = told(tensor)) return cause;
  }
  return std::nullopt;
}

}  // namespace ulpscope::comparison::causes
