#include "dump/timelines.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "dump/bytes.hpp"

namespace ulpscope::dump {

void Timelines::open(std::uint32_t id, Thread thread) {
  Lane& lane = lanes_[id];
  if (thread == Thread::of_program) return;
  lane.route = Route::shared;
  shared_.open(id, thread == Thread::main);
}

void Timelines::decide(std::uint32_t id, Lane& lane, Route route) {
  lane.route = route;
  Timeline& timeline = timeline_of(id, lane);
  timeline.open(id, route == Route::own);
  for (TimelineEvent& event : lane.waiting) timeline.add(id, std::move(event));
  lane.waiting.clear();
}

void Timelines::add(std::uint32_t id, TimelineEvent event) {
  Lane& lane = lanes_[id];
  if (lane.route != Route::undecided) {
    timeline_of(id, lane).add(id, std::move(event));
    return;
  }
  lane.runs_forward = lane.runs_forward || Timeline::runs_in_forward(event);
  lane.runs_without_root = lane.runs_without_root || Timeline::runs_without_root(event);
  const bool trains = event.follows_own_forward || (lane.runs_forward && Timeline::trains(event)) ||
                      (lane.runs_without_root && event.kind == EventKind::optimizer);
  lane.waiting.push_back(std::move(event));
  if (trains) {
    decide(id, lane, Route::own);
  } else if (lane.waiting.size() > Timeline::kMostHeld) {
    decide(id, lane, Route::shared);
  }
}

void Timelines::advance(std::uint32_t id) {
  Lane& lane = lanes_[id];
  if (lane.route != Route::undecided) timeline_of(id, lane).advance(id);
}

void Timelines::close(std::uint32_t id) {
  Lane& lane = lanes_[id];
  if (lane.route == Route::undecided) decide(id, lane, Route::shared);
  timeline_of(id, lane).close(id);
}

void Timelines::finish() {
  for (auto& [id, lane] : lanes_)
    if (lane.route == Route::undecided) decide(id, lane, Route::shared);
  shared_.finish();
  for (auto& [id, timeline] : own_) timeline.finish();
}

std::vector<Placement> Timelines::take() {
  std::vector<Placement> placements = shared_.take();
  for (auto& [id, timeline] : own_) {
    const std::vector<Placement> more = timeline.take();
    placements.insert(placements.end(), more.begin(), more.end());
  }
  return placements;
}

std::uint64_t Timelines::steps() const noexcept {
  std::uint64_t steps = shared_.steps();
  for (const auto& [id, timeline] : own_) steps = std::max(steps, timeline.steps());
  return steps;
}

std::uint64_t Timelines::steps(std::uint32_t lane) const noexcept {
  const auto own = own_.find(lane);
  return own == own_.end() ? shared_.steps() : own->second.steps();
}

bool Timelines::is_trainer(std::uint32_t id) const {
  const auto lane = lanes_.find(id);
  return lane != lanes_.end() && lane->second.route == Route::own;
}

std::vector<std::byte> Timelines::save() const {
  ByteWriter out;
  const auto put = [&](const std::vector<std::byte>& saved) {
    out.put(static_cast<std::uint64_t>(saved.size()));
    out.put_bytes(saved);
  };
  put(shared_.save());
  out.put(static_cast<std::uint64_t>(lanes_.size()));
  for (const auto& [id, lane] : lanes_) {
    out.put(id);
    out.put(lane.route);
    if (lane.route == Route::own) put(own_.at(id).save());
  }
  return {out.bytes().begin(), out.bytes().end()};
}

bool Timelines::restore(std::span<const std::byte> saved) {
  ByteReader in(saved);
  if (!shared_.restore(in.get_bytes(in.get<std::uint64_t>()))) return false;
  for (auto count = in.get<std::uint64_t>(); count > 0 && in.ok(); --count) {
    const auto id = in.get<std::uint32_t>();
    Lane& lane = lanes_[id];
    lane.route = in.get_up_to(Route::own);
    if (lane.route != Route::own) continue;
    own_[id].open(id, true);
    if (!own_[id].restore(in.get_bytes(in.get<std::uint64_t>()))) return false;
  }
  return in.ok();
}

}  // namespace ulpscope::dump
