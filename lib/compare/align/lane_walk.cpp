#include "compare/align/lane_walk.hpp"

#include <algorithm>
#include <utility>

#include "compare/align/step_border.hpp"

namespace ulpscope::comparison {

LaneWalk::LaneWalk(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
                   const Both<std::optional<Lane>>& lanes, bool only_layers,
                   const StoragePairs& storages, const WindowLimits& limits)
    : course_{runs, ranks, lanes}, storages_(storages), limits_(limits) {
  for (const Side side : kSides)
    if (const auto& lane = on(lanes, side))
      on(readers_, side).emplace(*on(runs, side), on(ranks, side), lane->id, only_layers);
}

Both<std::optional<std::int64_t>> LaneWalk::next_steps() const {
  Both<std::optional<std::int64_t>> steps;
  for (const Side side : kSides)
    if (const auto& reader = on(readers_, side)) on(steps, side) = reader->step();
  return steps;
}

std::uint64_t LaneWalk::skip(Side side, std::int64_t step) {
  auto& reader = on(readers_, side);
  return reader ? reader->skip(step) : 0;
}

void LaneWalk::skip_preparation(Side side) {
  if (auto& reader = on(readers_, side)) reader->skip_preparation();
}

void LaneWalk::begin(const StepsToCompare& steps, ForwardId forward) {
  steps_ = steps;
  forward_ = std::move(forward);
  waiting_ = {};
  window_events_ = limits_.events;
  looked_ahead_ = false;
  reads_over_border_ = false;
  load();
}

void LaneWalk::preview(Side side, std::int64_t step, std::int64_t candidate_step) {
  steps_ = StepsToCompare::one(step, candidate_step);
  Both<std::unique_ptr<Window>> windows;
  for (const Side one : kSides) {
    const auto& reader = on(readers_, one);
    std::vector<HeldEvent> events;
    if (one == side && reader) events = reader->peek();
    on(windows, one) = std::make_unique<Window>(std::move(events), true);
  }
  windows_.hold(std::move(windows));
  windows_.replace_entries(0, {},
                           {windows_.items(Side::reference), windows_.items(Side::candidate)});
  cursor_ = 0;
  committed_ = entries().size();
  more_ = false;
}

void LaneWalk::load() {
  do {
    read_windows();
  } while (at_end() && more_);
}

void LaneWalk::read_windows() {
  Both<bool> last;
  Both<std::unique_ptr<Window>> windows;
  for (const Side side : kSides) {
    auto& reader = on(readers_, side);
    auto& events = on(waiting_, side);
    const bool reads = reader && steps_.only.value_or(side) == side;
    if (reads) reader->read(last_step(side), window_events_, events);
    on(last, side) = !reads || !reader->step() || *reader->step() > last_step(side);
    on(windows, side) = std::make_unique<Window>(std::move(events), on(last, side));
    events.clear();
  }
  windows_.hold(std::move(windows));
  more_ = !last.reference || !last.candidate;
  std::uint64_t given_up = align_windows();
  if (!more_ && read_over_border()) given_up = align_windows();
  if (!more_) effort_.given_up += given_up;
  cursor_ = 0;
  committed_ = entries().size();
  if (more_) cut();
}

/// Returns the number of items that it has given up.
std::uint64_t LaneWalk::align_windows() {
  const auto& lanes = course_.lanes;
  const Both<std::uint32_t> ids{lanes.reference ? lanes.reference->id : 0,
                                lanes.candidate ? lanes.candidate->id : 0};
  WindowAlignment alignment =
      align(windows_.window(Side::reference), windows_.window(Side::candidate), ids, forward_,
            storages_, steps_.are_several() || reads_over_border_);
  windows_.set_entries(std::move(alignment.entries));
  effort_.operations += alignment.operations;
  return alignment.given_up;
}

/// The run of which the last entries of the step have no partner, if it is one run alone.
std::optional<Side> LaneWalk::side_with_more() const {
  if (steps_.only || entries().empty() || entries().back().aligned()) return std::nullopt;
  const Side side = entries().back().reference == kNoIndex ? Side::candidate : Side::reference;
  const auto of_other = [&](const Entry& entry) {
    return side == Side::reference ? entry.candidate != kNoIndex : entry.reference != kNoIndex;
  };
  const auto before = std::find_if(entries().rbegin(), entries().rend(), of_other);
  const bool is_alone = before == entries().rend() || before->aligned();
  return is_alone ? std::optional(side) : std::nullopt;
}

/// Where one run has more at the end of the step, reads what the other one has of that at the
/// beginning of its next step.
bool LaneWalk::read_over_border() {
  const auto side = side_with_more();
  if (!side) return false;
  const Side other = the_other(*side);
  for (const Side one : kSides)
    if (const auto& reader = on(readers_, one); !reader || reader->step() != last_step(one) + 1)
      return false;
  auto first = entries().end();
  while (first != entries().begin() && !std::prev(first)->aligned()) --first;
  const std::uint32_t item = *side == Side::reference ? first->reference : first->candidate;
  auto& reader = *on(readers_, other);
  const std::vector<HeldEvent> begins = reader.peek();
  const std::vector<HeldEvent> beside = on(readers_, *side)->peek();
  const Window& longer = windows_.window(*side);
  std::size_t count = events_carried_over(longer, item, begins, beside);
  if (count == 0) count = events_before_border(longer, item, begins, beside);
  if (count == 0) return false;
  reads_over_border_ = true;
  Both<std::unique_ptr<Window>> windows;
  for (const Side one : kSides) {
    std::vector<HeldEvent> events = windows_.window(one).from_item(0);
    if (one == other) reader.read_first(count, events);
    on(windows, one) = std::make_unique<Window>(std::move(events), true);
  }
  windows_.hold(std::move(windows));
  return true;
}

/// A side has nothing left in this step.
bool LaneWalk::is_over(Side side) const {
  return windows_.window(side).last() && windows_.items(side) == 0;
}

Both<std::uint32_t> LaneWalk::first_unsettled() const {
  if (committed_ == 0) return {};
  const Entry& last = entries()[committed_ - 1];
  return {last.reference + 1, last.candidate + 1};
}

/// Decides how far this piece of a long step is settled and keeps the rest for the next piece.
void LaneWalk::cut() {
  committed_ = settled_entries(entries(), windows_.windows());
  const bool little = committed_ < entries().size() / 4;
  const bool one_is_over = is_over(Side::reference) != is_over(Side::candidate);
  if (one_is_over || (little && !entries().empty() && window_events_ >= limits_.most_events)) {
    give_up();
    return;
  }
  if (little || entries().empty()) window_events_ *= 2;
  const Both<std::uint32_t> first = first_unsettled();
  for (const Side side : kSides)
    on(waiting_, side) = windows_.window(side).from_item(on(first, side));
}

/// Entries that are not settled get no partners: those of the run that has more here than the other
/// one, or, if that cannot be determined, of both.
void LaneWalk::give_up() {
  std::optional<Side> longer;
  const bool reference_ends = windows_.window(Side::reference).last();
  if (reference_ends != windows_.window(Side::candidate).last())
    longer = reference_ends ? Side::candidate : Side::reference;
  else if (!looked_ahead_)
    longer = side_that_comes_back(windows_.windows(), readers_, steps_.last, limits_.events);
  looked_ahead_ = looked_ahead_ || !longer;

  const Both<std::uint32_t> first = first_unsettled();
  Both<std::uint32_t> end = first;
  for (const Side side : kSides)
    if (!longer || longer == side) on(end, side) = std::max(on(first, side), windows_.items(side));
  windows_.replace_entries(committed_, first, end);
  for (const Side side : kSides)
    on(waiting_, side) = windows_.window(side).from_item(on(end, side));
  if (!longer) effort_.given_up += entries().size() - committed_;
  committed_ = entries().size();
}

void LaneWalk::next() {
  ++cursor_;
  if (at_end() && more_) load();
}

bool LaneWalk::ends_here(Side side) const {
  const auto& reader = on(readers_, side);
  return !reader || (!reader->step() && windows_.window(side).last());
}

/// Those of the current entry. The run that it lacks is taken to be as far as the other one.
Both<std::int64_t> LaneWalk::current_steps() const {
  if ((!steps_.are_several() && !reads_over_border_) || at_end()) return steps_.first;
  const std::int64_t beyond = reads_over_border_ ? 1 : 0;
  const auto at_most = [&](Side side, std::int64_t step) {
    return std::min(step, last_step(side) + beyond);
  };
  const Entry& entry = current();
  const EventPair events = events_of(entry);
  Both<std::int64_t> steps;
  if (events.reference != kNoIndex)
    steps.reference = at_most(Side::reference,
                              windows_.window(Side::reference).held(events.reference).block->step);
  if (events.candidate != kNoIndex)
    steps.candidate = at_most(Side::candidate,
                              windows_.window(Side::candidate).held(events.candidate).block->step);
  const std::int64_t apart = steps_.first.candidate - steps_.first.reference;
  if (events.reference == kNoIndex)
    steps.reference = std::min(steps.candidate - apart, steps_.last.reference);
  if (events.candidate == kNoIndex)
    steps.candidate = std::min(steps.reference + apart, steps_.last.candidate);
  return steps;
}

Scene LaneWalk::scene() const {
  Scene scene;
  scene.runs = course_.runs;
  scene.ranks = course_.ranks;
  static const Lane kNoLane;
  for (const Side side : kSides) on(scene.lanes, side) = lane(side) ? &*lane(side) : &kNoLane;
  scene.windows = windows_.windows();
  const Both<std::int64_t> steps = current_steps();
  scene.step = steps.reference;
  scene.candidate_step = steps.candidate;
  scene.partners = {windows_.certain_partners(Side::reference),
                    windows_.certain_partners(Side::candidate)};
  scene.generation = generation();
  return scene;
}

bool LaneWalk::has_passed(Side side, std::uint64_t position) const {
  const Window& window = windows_.window(side);
  bool any = false;
  for (std::size_t k = cursor_; k < entries().size(); ++k) {
    const Entry& entry = entries()[k];
    const std::uint32_t item = side == Side::reference ? entry.reference : entry.candidate;
    if (item == kNoIndex || !window.items()[item].op) continue;
    if (window.event(window.items()[item].event).position <= position) return false;
    any = true;
    if (side == Side::reference || !windows_.crosses()) break;
  }
  return any || at_end();
}

}  // namespace ulpscope::comparison
