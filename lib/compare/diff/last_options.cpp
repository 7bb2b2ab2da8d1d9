#include "compare/diff/last_options.hpp"

#include <algorithm>

#include "compare/diff/finding_writer.hpp"
#include "compare/diff/optimizer_options.hpp"
#include "compare/diff/rank_state.hpp"
#include "compare/model/hash.hpp"

namespace ulpscope::comparison {

void LastOptions::passed(RankState& state, const Scene& scene, EventPair step) {
  if (state.book.diverges()) return;
  const std::uint64_t optimizer = scene.windows.reference->event(step.reference).object;
  const auto options = other_options(scene, step);
  if (std::ranges::none_of(options, [](const ArgumentReport& option) {
        return option.reference && option.candidate && !is_form(option);
      })) {
    differ_.erase(optimizer);
    return;
  }
  differ_[optimizer] =
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

void LastOptions::blame(RankState& state) const {
  for (const auto& [optimizer, source] : differ_) state.book.make_diverging(source);
}

}  // namespace ulpscope::comparison
