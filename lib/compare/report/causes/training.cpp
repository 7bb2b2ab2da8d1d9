#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "compare/model/words.hpp"
#include "compare/report/causes/rules.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison::causes {
namespace {

[[nodiscard]] bool same_ops_in_another_order(const Case& of) {
  auto left = of.evidence().alone.reference;
  auto right = of.evidence().alone.candidate;
  std::sort(left.begin(), left.end());
  std::sort(right.begin(), right.end());
  return left.size() > 1 && left == right;
}

/// Among the ops is one that ends an update of parameters.
[[nodiscard]] bool updates(const std::vector<std::string>& ops) {
  return std::any_of(ops.begin(), ops.end(), [](const std::string& op) {
    const facts::Op known(op);
    return known.is_in_place() && known.has(facts::fact::ends_update);
  });
}

[[nodiscard]] bool is_accumulation(const Finding& finding) {
  return std::find(finding.parents.begin(), finding.parents.end(),
                   "torch::autograd::AccumulateGrad") != finding.parents.end();
}

/// A generator of Python or NumPy is in another state.
[[nodiscard]] bool other_generator(const Case& of) {
  const auto& settings = of.report().environment;
  return std::any_of(settings.begin(), settings.end(), [](const EnvironmentDifference& setting) {
    return setting.key.starts_with("note.rng.");
  });
}

/// What is at the point where the runs diverge: it may follow from how steps are divided.
[[nodiscard]] bool may_follow_from_steps(const Case& of, std::int64_t step) {
  return of.finding().step.value_or(kSetup) <= step && !of.is(FindingKind::parameter) &&
         !of.is(FindingKind::rng) && !of.is(FindingKind::write);
}

/// What fixes the hashes of strings, where the runs have it set differently and nothing else that
/// can change bits.
[[nodiscard]] const EnvironmentDifference* other_hashes(const Case& of) {
  const EnvironmentDifference* found = nullptr;
  for (const EnvironmentDifference& one : of.report().environment) {
    const bool fixes = one.key == "env.PYTHONHASHSEED" || one.key == "env_now.PYTHONHASHSEED";
    if (fixes) found = &one;
    if (!fixes && one.can_change_bits && one.key != "python.hash_randomization") return nullptr;
  }
  return found;
}

}  // namespace

std::optional<Cause> gradient_accumulation(const Case& of) {
  const auto& other = of.runs().accumulation;
  if (skipped_step(of)) return std::nullopt;
  const bool begins_otherwise = diverging_sequence(of) && is_accumulation(of.finding());
  if (!begins_otherwise && other && may_follow_from_steps(of, other->step) && !other->ratio) {
    Cause cause = of.cause("gradient-accumulation", Confidence::likely);
    cause.evidence = {
        fmt::format("in {} a gradient is accumulated {} and {} times", step_words(other->step),
                    other->times.reference, other->times.candidate),
        "sums of the same terms are rounded differently then"};
    cause.attempt = {"compare with --rtol, or with the same number of accumulations"};
    return cause;
  }
  if (!begins_otherwise) return std::nullopt;
  Cause cause = of.cause("gradient-accumulation", Confidence::likely);
  cause.evidence = {"one run alone begins without gradients, as after zero_grad()"};
  cause.attempt = {"call optimizer.zero_grad() at the same place in both programs"};
  return cause;
}

std::optional<Cause> scale_of_gradients(const Case& of) {
  const auto& other = of.runs().accumulation;
  if (!other || !other->ratio || !may_follow_from_steps(of, other->step)) return std::nullopt;
  Cause cause = of.cause("scale", Confidence::likely);
  cause.evidence = {fmt::format(
      "in {} gradients are accumulated {} and {} times, and the candidate's come to {} "
      "times the reference's",
      step_words(other->step), other->times.reference, other->times.candidate, *other->ratio)};
  cause.attempt = {"divide the loss by the number of accumulations"};
  return cause;
}

std::optional<Cause> skipped_step(const Case& of) {
  if (!diverging_sequence(of) || of.finding().phase != Phase::optimizer ||
      of.evidence().among_updates || of.evidence().updated_again || of.evidence().moved)
    return std::nullopt;
  for (const Side side : kSides) {
    const Side other = the_other(side);
    const auto& names = on(of.evidence().alone_updates, side);
    if (names.empty() || !on(of.evidence().alone_updates, other).empty() ||
        !updates(on(of.evidence().alone, side)))
      continue;
    Cause cause = of.cause("skipped-step", Confidence::likely);
    cause.evidence = {fmt::format("only the {} updates {} here", name(side), listed(names))};
    cause.attempt = {"see whether a scaler found an overflow, or a condition skips the update"};
    return cause;
  }
  return std::nullopt;
}

std::optional<Cause> backward_order(const Case& of) {
  if (!diverging_sequence(of) || of.finding().phase != Phase::backward ||
      !same_ops_in_another_order(of))
    return std::nullopt;
  Cause cause = of.cause("backward-order", Confidence::likely);
  cause.evidence = {
      "backward runs the same ops in a different order, and sums are rounded differently"};
  cause.attempt = {"run backward from one thread, one loss after the other"};
  return cause;
}

std::optional<Cause> hash_order(const Case& of) {
  const bool other_ops = diverging_sequence(of) && of.finding().phase != Phase::backward &&
                         same_ops_in_another_order(of);
  const bool other_names = of.evidence().named_otherwise;
  // Without its bytes, data in another order look like other data.
  const EnvironmentDifference* const set_otherwise = other_hashes(of);
  const bool hashes_differ = of.runs().random_hashes || set_otherwise != nullptr;
  const bool other_data =
      hashes_differ && of.report().reference.command == of.report().candidate.command &&
      (picks_samples(of) ||
       (of.is(FindingKind::data) && prepares_data(of.finding()) && !reads_state(of)));
  if (!other_ops && !other_names && !other_data) return std::nullopt;
  const bool drawn = other_generator(of);
  const bool known_order =
      other_names || (other_data && !drawn && (set_otherwise != nullptr || in_another_order(of)));
  Cause cause = of.cause("hash-order",
                         known_order && hashes_differ ? Confidence::likely : Confidence::possible);
  if (other_ops) cause.evidence.emplace_back("the same ops run in a different order");
  if (other_names)
    cause.evidence.emplace_back(
        "the same values belong to other names: modules are registered in a different order");
  if (of.runs().random_hashes)
    cause.evidence.emplace_back(
        "PYTHONHASHSEED is not set: strings have other hashes in each process, and sets of them "
        "another order");
  if (set_otherwise != nullptr) cause.evidence.push_back(words(*set_otherwise));
  for (const OtherOrder& order : of.runs().other_orders)
    cause.evidence.push_back(fmt::format("the {} has its elements in another order: {} and {}",
                                         order.container, order.elements.reference,
                                         order.elements.candidate));
  if (!other_data) cause.against = {"the program may have been changed to run them so"};
  if (drawn) cause.against.emplace_back("a generator of the program is in another state, too");
  cause.attempt = {hashes_differ ? "PYTHONHASHSEED=0 " + of.command("")
                                 : "iterate over a sorted container; a hash of addresses "
                                   "or strings differs from process to "
                                   "process"};
  return cause;
}

std::optional<Cause> compiled(const Case& of) {
  if (has_other_code(of)) {
    Cause cause = of.cause("compiled", Confidence::certain);
    cause.evidence = {
        fmt::format("the compiler has generated different code for {}", of.finding().op)};
    cause.attempt = {"TORCH_LOGS=output_code " + of.command("")};
    return cause;
  }
  if (of.is(FindingKind::origin) && of.finding().op == "inductor::aoti_model") {
    Cause cause = of.cause("compiled", Confidence::likely);
    cause.evidence = {
        "neither the code nor the weights that AOTInductor has made a library of are "
        "recorded"};
    cause.attempt = {"compare the programs that compile the model"};
    return cause;
  }
  if (!of.is(FindingKind::sequence) && !of.is(FindingKind::origin)) return std::nullopt;
  std::vector<std::string> found;
  for (const Side side : kSides) {
    for (const std::string& op : on(of.evidence().alone, side))
      if (facts::is_compiled(op)) found.push_back(op);
    for (const std::string& op : on(of.finding().children, side))
      if (facts::is_compiled(op)) found.push_back(op);
  }
  if (found.empty()) return std::nullopt;
  Cause cause = of.cause("compiled", Confidence::likely);
  cause.evidence = {fmt::format("{} stands for a compiled region", listed(found))};
  cause.attempt = {"run both programs without compilation"};
  return cause;
}

}  // namespace ulpscope::comparison::causes
