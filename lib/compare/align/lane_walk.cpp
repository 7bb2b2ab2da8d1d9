#include "compare/align/lane_walk.hpp"

#include <algorithm>
#include <utility>

namespace ulpscope::comparison {

LaneWalk::LaneWalk(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
                   const Both<std::optional<Lane>>& lanes, bool only_layers,
                   const WindowLimits& limits)
    : runs_(runs), ranks_(ranks), lanes_(lanes), limits_(limits) {
  for (const Side side : kSides)
    if (const auto& lane = on(lanes_, side))
      on(readers_, side).emplace(*on(runs_, side), on(ranks_, side), lane->id, only_layers);
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

void LaneWalk::begin(std::int64_t step, std::int64_t candidate_step, ForwardId forward,
                     std::optional<Side> only) {
  only_ = only;
  step_ = {step, candidate_step};
  forward_ = std::move(forward);
  waiting_ = {};
  window_events_ = limits_.events;
  looked_ahead_ = false;
  load();
}

void LaneWalk::preview(Side side, std::int64_t step, std::int64_t candidate_step) {
  ++generation_;
  step_ = {step, candidate_step};
  for (const Side one : kSides) {
    const auto& reader = on(readers_, one);
    std::vector<HeldEvent> events;
    if (one == side && reader) events = reader->peek();
    on(windows_, one) = std::make_unique<Window>(std::move(events), true);
  }
  entries_.clear();
  const auto count = static_cast<std::uint32_t>(on(windows_, side)->items().size());
  for (std::uint32_t item = 0; item < count; ++item)
    entries_.push_back(side == Side::reference ? Entry{item, kNoIndex, false}
                                               : Entry{kNoIndex, item, false});
  cursor_ = 0;
  committed_ = entries_.size();
  more_ = false;
}

void LaneWalk::load() {
  do {
    read_windows();
  } while (at_end() && more_);
}

void LaneWalk::read_windows() {
  ++generation_;
  Both<bool> last;
  for (const Side side : kSides) {
    auto& reader = on(readers_, side);
    auto& events = on(waiting_, side);
    const std::int64_t step = on(step_, side);
    const bool reads = reader && only_.value_or(side) == side;
    if (reads) reader->read(step, window_events_, events);
    on(last, side) = !reads || !reader->step() || *reader->step() > step;
    on(windows_, side) = std::make_unique<Window>(std::move(events), on(last, side));
    events.clear();
  }
  const Both<std::uint32_t> ids{lanes_.reference ? lanes_.reference->id : 0,
                                lanes_.candidate ? lanes_.candidate->id : 0};
  WindowAlignment alignment = align(*windows_.reference, *windows_.candidate, ids, forward_);
  entries_ = std::move(alignment.entries);
  operations_ += alignment.operations;
  number_partners();
  cursor_ = 0;
  committed_ = entries_.size();
  more_ = !last.reference || !last.candidate;
  if (more_)
    cut();
  else
    given_up_ += alignment.given_up;
}

void LaneWalk::number_partners() {
  for (const Side side : kSides) {
    on(partner_numbers_, side).assign(on(windows_, side)->items().size(), 0);
    on(certain_partners_, side).assign(on(windows_, side)->items().size(), 0);
  }
  for (const Entry& entry : entries_) {
    if (!entry.aligned()) continue;
    if (!entry.relaxed) {
      certain_partners_.reference[entry.reference] = std::uint64_t{entry.reference} + 1;
      certain_partners_.candidate[entry.candidate] = std::uint64_t{entry.reference} + 1;
    }
    partner_numbers_.reference[entry.reference] = std::uint64_t{entry.reference} + 1;
    partner_numbers_.candidate[entry.candidate] = std::uint64_t{entry.reference} + 1;
  }
}

/// A side has nothing left in this step.
bool LaneWalk::is_over(Side side) const {
  const Window& window = *on(windows_, side);
  return window.last() && window.items().empty();
}

/// Decides how far this piece of a long step is settled and keeps the rest for the next piece.
void LaneWalk::cut() {
  const Both<const Window*> windows{windows_.reference.get(), windows_.candidate.get()};
  committed_ = settled_entries(entries_, windows);
  const bool little = committed_ < entries_.size() / 4;
  const bool one_is_over = is_over(Side::reference) != is_over(Side::candidate);
  if (one_is_over || (little && !entries_.empty() && window_events_ >= limits_.most_events)) {
    give_up();
    return;
  }
  if (little || entries_.empty()) window_events_ *= 2;
  Both<std::uint32_t> settled;
  if (committed_ > 0)
    settled = {entries_[committed_ - 1].reference + 1, entries_[committed_ - 1].candidate + 1};
  for (const Side side : kSides)
    on(waiting_, side) = on(windows_, side)->from_item(on(settled, side));
}

/// Entries that are not settled get no partners: those of the run that has more here than the other
/// one, or, if that cannot be determined, of both.
void LaneWalk::give_up() {
  const Both<const Window*> windows{windows_.reference.get(), windows_.candidate.get()};
  std::optional<Side> longer;
  if (windows.reference->last() != windows.candidate->last())
    longer = windows.reference->last() ? Side::candidate : Side::reference;
  else if (!looked_ahead_)
    longer = side_that_comes_back(windows, readers_, step_, limits_.events);
  looked_ahead_ = looked_ahead_ || !longer;

  Both<std::uint32_t> first;
  if (committed_ > 0)
    first = {entries_[committed_ - 1].reference + 1, entries_[committed_ - 1].candidate + 1};
  entries_.resize(committed_);
  for (const Side side : kSides) {
    std::uint32_t item = on(first, side);
    const auto count = static_cast<std::uint32_t>(on(windows_, side)->items().size());
    if (!longer || longer == side)
      for (; item < count; ++item)
        entries_.push_back(side == Side::reference ? Entry{item, kNoIndex, false}
                                                   : Entry{kNoIndex, item, false});
    on(waiting_, side) = on(windows_, side)->from_item(item);
  }
  if (!longer) given_up_ += entries_.size() - committed_;
  committed_ = entries_.size();
  number_partners();
}

void LaneWalk::next() {
  ++cursor_;
  if (at_end() && more_) load();
}

bool LaneWalk::ends_here(Side side) const {
  const auto& reader = on(readers_, side);
  return !reader || (!reader->step() && on(windows_, side)->last());
}

Scene LaneWalk::scene() const {
  Scene scene;
  scene.runs = runs_;
  scene.ranks = ranks_;
  static const Lane kNoLane;
  for (const Side side : kSides)
    on(scene.lanes, side) = on(lanes_, side) ? &*on(lanes_, side) : &kNoLane;
  scene.windows = {windows_.reference.get(), windows_.candidate.get()};
  scene.step = step_.reference;
  scene.candidate_step = step_.candidate;
  scene.partners = {certain_partners_.reference, certain_partners_.candidate};
  scene.generation = generation_;
  return scene;
}

EventPair LaneWalk::events_of(const Entry& entry) const {
  EventPair events;
  if (entry.reference != kNoIndex)
    events.reference = windows_.reference->items()[entry.reference].event;
  if (entry.candidate != kNoIndex)
    events.candidate = windows_.candidate->items()[entry.candidate].event;
  return events;
}

bool LaneWalk::has_passed(Side side, std::uint64_t position) const {
  const Window& window = *on(windows_, side);
  for (std::size_t k = cursor_; k < entries_.size(); ++k) {
    const std::uint32_t item =
        side == Side::reference ? entries_[k].reference : entries_[k].candidate;
    if (item == kNoIndex || !window.items()[item].op) continue;
    return window.event(window.items()[item].event).position > position;
  }
  return at_end();
}

std::uint64_t LaneWalk::partner_number(Side side, std::uint64_t position) const {
  if (on(windows_, side) == nullptr) return 0;
  const Window& window = *on(windows_, side);
  const std::uint32_t index = window.find(position);
  if (index == kNoIndex || window.item_of(index) == kNoIndex) return 0;
  return on(partner_numbers_, side)[window.item_of(index)];
}

}  // namespace ulpscope::comparison
