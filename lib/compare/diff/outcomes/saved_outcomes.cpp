#include "compare/diff/outcomes/saved_outcomes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compare/align/lane_ops.hpp"
#include "compare/diff/outcomes/left_options.hpp"
#include "compare/model/content.hpp"
#include "compare/model/words.hpp"

namespace ulpscope::comparison {
namespace {

/// A tensor that the program saves.
struct Save {
  Content content;
  Lane lane;
  std::uint64_t position = kNone;
};

/// What the main thread saves.
[[nodiscard]] std::vector<Save> saves_of_main(const RankState& state, Side side) {
  std::vector<Save> saves;
  const Run& run = *on(state.runs, side);
  const std::uint32_t rank = on(state.ranks, side);
  for (const Lane& lane : run.lanes(rank))
    if (lane.role == LaneRole::main)
      for_each_op(run, rank, lane.id, [&](const Event& op, std::int64_t) {
        if (op.op == kSave && !op.slots.empty())
          saves.push_back({content_of(op.slots.front()), lane, op.position});
      });
  return saves;
}

/// In the order of their keys, where those are noted; of other archives, where parameters are in
/// the order of addresses, in that of their contents.
[[nodiscard]] std::vector<Save> saves_of(const LastFile& file, const std::vector<Save>& all) {
  const auto saves = std::span(all).subspan(file.first, file.tensors);
  std::vector<Save> result(saves.begin(), saves.end());
  if (file.keys.size() != result.size()) {
    if (file.is_archive) std::ranges::sort(result, {}, &Save::content);
    return result;
  }
  std::vector<std::size_t> order(result.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t k) { return file.keys[k]; });
  std::ranges::transform(order, result.begin(), [&](std::size_t k) { return saves[k]; });
  return result;
}

[[nodiscard]] Outcome place_of(const RankState& state, Side side, const Save& save) {
  return {.event = find_event(*on(state.runs, side), on(state.ranks, side),
                              {save.lane.id, save.position}),
          .lane = save.lane};
}

/// The first op of the main thread that saves a tensor in a step; no event if there is none.
[[nodiscard]] Outcome first_save(const RankState& state, Side side, std::int64_t step) {
  const Run& run = *on(state.runs, side);
  const std::uint32_t rank = on(state.ranks, side);
  for (const Lane& lane : run.lanes(rank)) {
    if (lane.role != LaneRole::main) continue;
    for (std::size_t index = 0; index < run.block_count(rank, lane.id); ++index) {
      const auto block = std::make_shared<const Block>(run.block(rank, lane.id, index));
      if (block->step != step) continue;
      for (const Event& event : block->events)
        if (event.op == kSave) return {.event = {&event, block}, .lane = lane};
    }
  }
  return {};
}

/// Where the runs save a file in these steps; at their ends if that is not known.
void enter_at_save(RankState& state, const Both<std::optional<std::int64_t>>& steps,
                   std::vector<ArgumentReport> reports, const OutcomePair& ends) {
  OutcomePair saves;
  for (const Side side : kSides)
    if (const auto step = on(steps, side)) on(saves, side) = first_save(state, side, *step);
  const auto describe = [&](Finding& finding) { finding.arguments = std::move(reports); };
  if (saves.reference.event.event != nullptr && saves.candidate.event.event != nullptr)
    enter_outcomes(state, FindingKind::arguments, saves, describe);
  else
    enter_outcomes(state, FindingKind::arguments, ends, describe);
}

/// The contents of all tensors that a run saves.
[[nodiscard]] std::set<Content> saved_contents(const RankState& state, Side side) {
  std::set<Content> contents;
  const Run& run = *on(state.runs, side);
  const std::uint32_t rank = on(state.ranks, side);
  for (const Lane& lane : run.lanes(rank))
    for_each_op(run, rank, lane.id, [&](const Event& op, std::int64_t) {
      if (op.op != kSave) return;
      for (const Slot& slot : op.slots) contents.insert(content_of(slot));
    });
  return contents;
}

}  // namespace

Noted noted_by(const RankState& state) {
  return {state.runs.reference->environment(state.ranks.reference),
          state.runs.candidate->environment(state.ranks.candidate)};
}

void judge_saved_alone(RankState& state, Side side) {
  const auto& saved = on(state.program.saved_alone, side);
  if (saved.empty()) return;
  const Side other = the_other(side);
  const std::set<Content> others = saved_contents(state, other);
  const bool same_keys = saved_same_keys(noted_by(state));
  for (const auto& [content, source] : saved) {
    if (!others.contains(content) && same_keys)
      blame(state, source, [&](Record& record) {
        record.evidence.left_alone =
            fmt::format("the {} saves another tensor under the same key", name(other));
      });
    else if (!others.contains(content) || !on(state.program.saved_alone, other).empty())
      ++on(state.totals.outcomes.extra_saves, side);
  }
}

void judge_left_options(RankState& state, const Noted& noted, const OutcomePair& ends) {
  LeftOptions differing = left_options(noted.reference, noted.candidate);
  if (!differing.reports.empty())
    enter_at_save(state, {differing.step, differing.step}, std::move(differing.reports), ends);
}

void judge_saved_files(RankState& state, const Noted& noted, const OutcomePair& ends) {
  SavedDifference differing = saved_otherwise(noted);
  if (!differing.reports.empty())
    enter_at_save(state, differing.steps, std::move(differing.reports), ends);
}

void judge_last_files(RankState& state, const Noted& noted) {
  Both<std::vector<Save>> saves;
  Both<std::vector<LastFile>> last;
  for (const Side side : kSides) {
    on(saves, side) = saves_of_main(state, side);
    on(last, side) = last_files(on(noted, side), on(saves, side).size());
  }
  const auto content = [](const Save& save) { return save.content; };
  for (const LastFiles& same : same_files(last)) {
    const LastFile& file = same.files.reference;
    const LastFile& other = same.files.candidate;
    const auto left = saves_of(file, saves.reference);
    const auto right = saves_of(other, saves.candidate);
    const auto [one, another] = std::ranges::mismatch(left, right, {}, content, content);
    if (one == left.end() || another == right.end()) continue;
    if (!same.certain) {
      state.totals.outcomes.extra_saves.reference += file.tensors;
      continue;
    }
    const bool same_place = file.step == other.step && file.number == other.number;
    const auto words = [&](const LastFile& saved) {
      const std::string place = file.step == other.step
                                    ? fmt::format("file {}", saved.number)
                                    : fmt::format("in {}", step_words(saved.step));
      return same_place && &saved != &file ? place + ", with other tensors" : place;
    };
    enter_outcomes(
        state, FindingKind::arguments,
        {place_of(state, Side::reference, *one), place_of(state, Side::candidate, *another)},
        [&](Finding& finding) {
          finding.arguments.push_back({fmt::format("last save of {}", same.name), words(file),
                                       words(other),
                                       file.is_archive ? "torch::save" : "torch.save"});
        });
  }
}

}  // namespace ulpscope::comparison
