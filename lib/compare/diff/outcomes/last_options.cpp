#include "compare/diff/outcomes/last_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "compare/diff/finding_writer.hpp"
#include "compare/diff/optimizer_options.hpp"
#include "compare/diff/rank_state.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/words.hpp"

namespace ulpscope::comparison {
namespace {

/// What torch.optim's and LibTorch's optimizers compute with. A program may keep other numbers in
/// its groups, such as a time.
constexpr std::array<std::string_view, 22> kHyperparameters{"lr",
                                                            "momentum",
                                                            "dampening",
                                                            "weight_decay",
                                                            "betas",
                                                            "eps",
                                                            "alpha",
                                                            "lr_decay",
                                                            "initial_accumulator_value",
                                                            "rho",
                                                            "lambd",
                                                            "t0",
                                                            "etas",
                                                            "step_sizes",
                                                            "momentum_decay",
                                                            "beta2_decay",
                                                            "d",
                                                            "max_iter",
                                                            "max_eval",
                                                            "tolerance_grad",
                                                            "tolerance_change",
                                                            "history_size"};

/// "0.1" or "[(0.9, 0.999), (0.5, 0.9)]", sorted; empty if something else is among them.
[[nodiscard]] std::optional<std::vector<float>> numbers_in(std::string_view text) {
  constexpr std::string_view kBetween = " ,[]()";
  std::vector<float> numbers;
  while ((text = text.substr(std::min(text.find_first_not_of(kBetween), text.size()))) != "") {
    const std::size_t end = std::min(text.find_first_of(kBetween), text.size());
    const auto number = number_in(text.substr(0, end));
    if (!number) return std::nullopt;
    numbers.push_back(static_cast<float>(*number));
    text.remove_prefix(end);
  }
  std::ranges::sort(numbers);
  return numbers;
}

[[nodiscard]] bool is_set_otherwise(const ArgumentReport& option) {
  if (!option.reference || !option.candidate ||
      std::ranges::find(kHyperparameters, option.name) == kHyperparameters.end())
    return false;
  const auto reference = numbers_in(*option.reference);
  const auto candidate = numbers_in(*option.candidate);
  return reference && candidate && *reference != *candidate;
}

}  // namespace

void LastOptions::used(Side side, const Lane& lane, const Event& event) {
  std::vector<std::uint64_t>& known = on(used_, side);
  if (lane.role == LaneRole::main && std::ranges::find(known, event.object) == known.end())
    known.push_back(event.object);
}

/// Python's are noted by the order in which the main thread used them first.
bool LastOptions::is_left(Side side, const std::vector<EnvironmentEntry>& noted,
                          std::uint64_t optimizer) const {
  const auto any = [&](auto fits) {
    return std::ranges::any_of(noted, fits, &EnvironmentEntry::key);
  };
  if (!any([](const std::string& key) { return key.starts_with("python."); })) return true;
  const std::vector<std::uint64_t>& all = on(used_, side);
  const auto number = std::ranges::find(all, optimizer) - all.begin();
  const std::string stands = fmt::format("end.optimizer.{}", number);
  const std::string saved = fmt::format("saved.optimizer.{}", number);
  return any([&](const std::string& key) { return key == stands || key == saved; });
}

void LastOptions::passed(RankState& state, const Scene& scene, EventPair step) {
  if (state.book.diverges()) return;
  const std::uint64_t optimizer = scene.windows.reference->event(step.reference).object;
  if (std::ranges::none_of(other_options(scene, step), is_set_otherwise)) {
    differ_.erase(optimizer);
    return;
  }
  Last& last = differ_[optimizer];
  last.candidate = scene.windows.candidate->event(step.candidate).object;
  last.source =
      enter_finding(state, FindingKind::arguments, scene, step, step,
                    {.key = KeyHash().add("last options").add(optimizer).value(),
                     .once_per_step = false,
                     .harmless = true},
                    [](Record& record) {
                      record.listed = false;
                      record.finding.diverges = false;
                      record.finding.notes.emplace_back(
                          "no value shows it: the runs leave the optimizer set otherwise");
                    });
}

void LastOptions::blame(RankState& state, const Noted& noted) const {
  for (const auto& [optimizer, last] : differ_)
    if (is_left(Side::reference, noted.reference, optimizer) &&
        is_left(Side::candidate, noted.candidate, last.candidate))
      state.book.make_diverging(last.source);
}

}  // namespace ulpscope::comparison
