#include "tests/support/run_builder.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace ulpscope::test {

RunBuilder::RunBuilder() : run_(std::make_unique<MemoryRun>()) {
  run_->details.path = "run";
  run_->details.command = {"./train"};
  run_->details.level = "digest";
  run_->details.complete = true;
  run_->details.ranks = 1;
  lane(LaneRole::main, 0);
}

RunBuilder::~RunBuilder() = default;

RunBuilder& RunBuilder::step(std::int64_t number) {
  step_ = number;
  return *this;
}

RunBuilder& RunBuilder::phase(Phase phase) {
  phase_ = phase;
  return *this;
}

RunBuilder& RunBuilder::lane(LaneRole role, std::uint32_t ordinal, const std::string& thread,
                             const std::string& created_by) {
  for (std::uint32_t id = 0; id < run_->stored.size(); ++id)
    if (run_->stored[id].lane.role == role && run_->stored[id].lane.ordinal == ordinal) {
      lane_ = id;
      return *this;
    }
  lane_ = static_cast<std::uint32_t>(run_->stored.size());
  run_->stored.push_back({{lane_, role, ordinal, thread, 0, created_by}, {}, {}});
  return *this;
}

RunBuilder& RunBuilder::thread_name(const std::string& name) {
  run_->stored[lane_].lane.thread_name = name;
  return *this;
}

RunBuilder& RunBuilder::backward(bool on) {
  backward_ = on;
  phase_ = on ? Phase::backward : Phase::optimizer;
  return *this;
}

RunBuilder& RunBuilder::threads(std::uint16_t count) {
  threads_ = count;
  return *this;
}

RunBuilder& RunBuilder::seed(std::uint64_t number) {
  seed_ = number;
  drawn_ = 0;
  return *this;
}

RunBuilder& RunBuilder::draw_unseen(std::uint64_t count) {
  drawn_ += count;
  return *this;
}

std::string RunBuilder::content_words(const Tensor& tensor) const {
  return to_string(digest(storages_.at(tensor.storage).bytes));
}

RunBuilder& RunBuilder::environment(std::string key, std::string value) {
  run_->settings.push_back({step_, std::move(key), std::move(value)});
  return *this;
}

RunBuilder& RunBuilder::incomplete(std::string reason) {
  run_->details.complete = false;
  run_->details.incomplete_reason = std::move(reason);
  return *this;
}

RunBuilder& RunBuilder::exit_code(int code) {
  run_->details.exit_code = code;
  return *this;
}

RunBuilder& RunBuilder::command(std::vector<std::string> words) {
  run_->details.command = std::move(words);
  return *this;
}

RunBuilder& RunBuilder::keep_content() {
  keep_content_ = true;
  run_->details.level = "full";
  return *this;
}

RunBuilder& RunBuilder::split_blocks(std::size_t events) {
  run_->block_events = events;
  return *this;
}

RunBuilder& RunBuilder::without_verification() {
  verify_ = false;
  return *this;
}

RunBuilder& RunBuilder::root(std::string name) {
  root_ = std::move(name);
  return *this;
}

RunBuilder& RunBuilder::without_optimizer() {
  has_optimizer_ = false;
  return *this;
}

RunBuilder& RunBuilder::rank(std::uint32_t number) {
  run_->rank = number;
  return *this;
}

void RunBuilder::steps_in_run(std::uint64_t steps) { run_->details.steps_in_run = steps; }

std::uint64_t RunBuilder::next_position() const { return run_->stored[lane_].events.size(); }

RunBuilder& RunBuilder::without_outcomes() {
  records_outcomes_ = false;
  return *this;
}

std::unique_ptr<MemoryRun> RunBuilder::build() {
  if (records_outcomes_ && !run_->stored.empty()) {
    lane_ = 0;
    begin(EventKind::outcome, "end of run", {}, kNone).draws(0);
  }
  auto& info = run_->details;
  std::int64_t last = kSetup;
  for (const auto& lane : run_->stored) {
    for (const auto& event : lane.events) {
      if (event.event.kind == EventKind::outcome) continue;
      ++info.events;
      last = std::max(last, event.step);
      info.values += event.slots.size();
    }
  }
  info.steps = static_cast<std::uint64_t>(last + 1);
  return std::move(run_);
}

Digest RunBuilder::state(std::uint64_t drawn) const {
  const std::array<std::uint64_t, 2> words{seed_, drawn};
  return digest(std::as_bytes(std::span(words)));
}

}  // namespace ulpscope::test
