#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "tests/support/synthetic_training.hpp"

namespace ulpscope::test {

/// A synthetic training in memory. Counts the blocks that are read of it.
class SyntheticRun : public Run {
 public:
  SyntheticRun(const SyntheticShape& shape, SyntheticDifferences differences,
               std::size_t block_events = 4096)
      : program_(shape, std::move(differences)) {
    info_.path = "synthetic";
    info_.command = {"./train"};
    info_.level = "digest";
    info_.complete = true;
    info_.ranks = 1;
    info_.steps = static_cast<std::uint64_t>(program_.steps());
    for (std::int64_t step = 0; step < program_.steps(); ++step) {
      begin_block(step);
      program_.next_step([&](const Event& event) {
        if (blocks_.back().events.size() >= block_events) begin_block(step);
        auto& kept = slots_.emplace_back(event.slots.begin(), event.slots.end());
        blocks_.back().events.push_back(event);
        blocks_.back().events.back().slots = kept;
        ++info_.events;
        info_.values += kept.size();
      });
    }
  }

  [[nodiscard]] const RunInfo& info() const override { return info_; }
  [[nodiscard]] std::vector<std::uint32_t> ranks() const override { return {0}; }
  [[nodiscard]] std::vector<Lane> lanes(std::uint32_t) const override {
    return {{0, LaneRole::main, 0, "main", info_.events, {}}};
  }
  [[nodiscard]] std::vector<EnvironmentEntry> environment(std::uint32_t) const override {
    return {};
  }
  [[nodiscard]] std::size_t block_count(std::uint32_t, std::uint32_t) const override {
    return blocks_.size();
  }
  [[nodiscard]] Block block(std::uint32_t, std::uint32_t, std::size_t index) const override {
    ++blocks_read;
    return blocks_.at(index);
  }
  [[nodiscard]] std::optional<std::vector<std::byte>> content(std::uint32_t,
                                                              const Digest&) const override {
    return std::nullopt;
  }

  mutable std::uint64_t blocks_read = 0;

 private:
  void begin_block(std::int64_t step) {
    blocks_.emplace_back();
    blocks_.back().step = step;
  }

  SyntheticTraining program_;
  RunInfo info_;
  std::vector<Block> blocks_;
  std::deque<std::vector<Slot>> slots_;
};

}  // namespace ulpscope::test
