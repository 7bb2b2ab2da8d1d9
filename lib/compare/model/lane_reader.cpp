#include "compare/model/lane_reader.hpp"

#include <algorithm>
#include <utility>

namespace ulpscope::comparison {

namespace {

/// Steps are added to and subtracted from: a damaged one must not overflow.
[[nodiscard]] std::int64_t sane_step(std::int64_t step) noexcept {
  constexpr std::int64_t kLast = std::int64_t{1} << 60;
  return std::clamp(step, kSetup, kLast);
}

}  // namespace

LaneReader::LaneReader(const Run& run, std::uint32_t rank, std::uint32_t lane, bool only_layers)
    : run_(&run), rank_(rank), lane_(lane), blocks_(run.block_count(rank, lane)) {
  if (only_layers) layers_.emplace();
  fetch();
}

std::optional<std::int64_t> LaneReader::step() const noexcept {
  if (!ahead_) return std::nullopt;
  return sane_step(ahead_->step);
}

void LaneReader::fetch() {
  ahead_.reset();
  while (!ahead_ && next_ < blocks_) {
    auto block = std::make_shared<Block>(run_->block(rank_, lane_, next_++));
    if (layers_) *block = layers_->of(std::move(*block));
    std::erase_if(block->events, [](const Event& event) {
      return event.kind == EventKind::kernel || event.kind == EventKind::outcome ||
             event.op == kInject;
    });
    if (!block->events.empty()) ahead_ = std::move(block);
  }
}

std::uint64_t LaneReader::position() const noexcept {
  return ahead_ && !ahead_->events.empty() ? ahead_->events.front().position : kNone;
}

std::optional<std::uint64_t> LaneReader::steps_left() const {
  if (!run_->info().complete) return std::nullopt;
  if (!ahead_) return 0;
  const std::int64_t last = sane_step(run_->block(rank_, lane_, blocks_ - 1).step);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(last - sane_step(ahead_->step), 0)) + 1;
}

std::vector<HeldEvent> LaneReader::peek() const {
  std::vector<HeldEvent> events;
  if (ahead_)
    for (const Event& event : ahead_->events) events.push_back({&event, ahead_});
  return events;
}

void LaneReader::read(std::int64_t step, std::size_t limit, std::vector<HeldEvent>& events) {
  while (ahead_ && sane_step(ahead_->step) <= step && events.size() < limit) {
    for (const Event& event : ahead_->events) events.push_back(held(event));
    fetch();
  }
}

HeldEvent LaneReader::held(const Event& event) {
  if (std::exchange(step_, ahead_->step) != ahead_->step) after_forward_ = kNone;
  if (event.forward != kNone && event.forward_lane != lane_)
    after_forward_ =
        after_forward_ == kNone ? event.forward : std::max(after_forward_, event.forward);
  return {&event, ahead_, after_forward_};
}

std::uint64_t LaneReader::skip(std::int64_t step) {
  std::uint64_t count = 0;
  for (; ahead_ && sane_step(ahead_->step) <= step; fetch()) count += ahead_->events.size();
  return count;
}

void LaneReader::skip_preparation() {
  if (!ahead_) return;
  const auto& events = ahead_->events;
  const auto forward = std::find_if(events.begin(), events.end(), [](const Event& event) {
    return event.phase == Phase::forward;
  });
  if (forward != events.end()) drop_first(static_cast<std::size_t>(forward - events.begin()));
}

void LaneReader::read_first(std::size_t count, std::vector<HeldEvent>& events) {
  for (std::size_t k = 0; k < count; ++k) events.push_back({&ahead_->events[k], ahead_});
  drop_first(count);
}

/// Of the next unread block.
void LaneReader::drop_first(std::size_t count) {
  if (count == 0) return;
  if (count == ahead_->events.size()) return fetch();
  auto rest = std::make_shared<Block>(*ahead_);
  rest->events.erase(rest->events.begin(),
                     rest->events.begin() + static_cast<std::ptrdiff_t>(count));
  ahead_ = std::move(rest);
}

std::optional<std::size_t> find_block(const Run& run, std::uint32_t rank, EventPlace place) {
  if (place.position == kNone) return std::nullopt;
  const std::vector<Lane> lanes = run.lanes(rank);
  if (std::none_of(lanes.begin(), lanes.end(),
                   [&](const Lane& lane) { return lane.id == place.lane; }))
    return std::nullopt;
  std::size_t low = 0;
  std::size_t high = run.block_count(rank, place.lane);
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    std::size_t next = middle;  // the first block from there on that holds events
    Block block = run.block(rank, place.lane, next);
    while (block.events.empty() && ++next < high) block = run.block(rank, place.lane, next);
    if (block.events.empty() || block.events.front().position > place.position)
      high = middle;
    else if (block.events.back().position < place.position)
      low = next + 1;
    else
      return next;
  }
  return std::nullopt;
}

HeldEvent find_event(const Run& run, std::uint32_t rank, EventPlace place) {
  const std::optional<std::size_t> index = find_block(run, rank, place);
  if (!index) return {};
  auto block = std::make_shared<const Block>(run.block(rank, place.lane, *index));
  const auto at = std::lower_bound(
      block->events.begin(), block->events.end(), place.position,
      [](const Event& event, std::uint64_t position) { return event.position < position; });
  if (at == block->events.end() || at->position != place.position) return {};
  const Event* const event = &*at;
  return {event, std::move(block)};
}

}  // namespace ulpscope::comparison
