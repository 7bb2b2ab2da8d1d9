#include "dump/recording.hpp"

#include <utility>

#include "dump/rank_writer.hpp"

namespace ulpscope::dump {

struct RankRecording::State {
  RankWriter writer;
};

RankRecording::RankRecording(const RecordingOptions& options, std::uint32_t rank, std::uint32_t pid,
                             const RankOrigin& origin)
    : state_(new State{RankWriter(options, rank, pid, origin)}) {}

RankRecording::~RankRecording() = default;

void RankRecording::open_lane(std::uint32_t lane, bool is_main, std::string_view thread_name) {
  state_->writer.open_lane(lane, is_main, thread_name);
}

void RankRecording::consume(std::uint32_t lane, std::span<const std::byte> messages) {
  state_->writer.consume(lane, messages);
}

void RankRecording::end_round() { state_->writer.end_round(); }

void RankRecording::close_lane(std::uint32_t lane) { state_->writer.close_lane(lane); }

void RankRecording::finish(std::string_view reason) { state_->writer.finish(reason); }

RecordingCounts RankRecording::counts() const noexcept { return state_->writer.counts(); }

std::int64_t RankRecording::begun_step(std::uint32_t lane) const noexcept {
  return state_->writer.begun_step(lane);
}

bool RankRecording::is_trainer(std::uint32_t lane) const { return state_->writer.is_trainer(lane); }

const std::optional<LastSegment>& RankRecording::last_segment() const noexcept {
  return state_->writer.last_segment();
}

const std::string& RankRecording::stopped() const noexcept { return state_->writer.stopped(); }

std::vector<std::string> RankRecording::notices() const { return state_->writer.notices(); }

bool RankRecording::ends_with_outcomes() const { return state_->writer.ends_with_outcomes(); }

bool RankRecording::has_setting(std::string_view key) const {
  return state_->writer.has_setting(key);
}

}  // namespace ulpscope::dump
