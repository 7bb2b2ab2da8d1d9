#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::test {

/// One run composed of several, each of which is one rank of it.
class RanksRun : public Run {
 public:
  RanksRun& add(std::uint32_t number, std::unique_ptr<Run> run, RankIdentity identity = {}) {
    info_.events += run->info().events;
    info_.complete = true;
    runs_[number] = std::move(run);
    identities_[number] = std::move(identity);
    info_.ranks = static_cast<std::uint32_t>(runs_.size());
    return *this;
  }

  RanksRun& command(std::vector<std::string> words) {
    info_.command = std::move(words);
    return *this;
  }

  [[nodiscard]] const RunInfo& info() const override { return info_; }
  [[nodiscard]] std::vector<std::uint32_t> ranks() const override {
    std::vector<std::uint32_t> numbers;
    for (const auto& [number, run] : runs_) numbers.push_back(number);
    return numbers;
  }
  [[nodiscard]] RankIdentity identity(std::uint32_t rank) const override {
    return identities_.at(rank);
  }
  [[nodiscard]] std::vector<Lane> lanes(std::uint32_t rank) const override {
    return runs_.at(rank)->lanes(rank);
  }
  [[nodiscard]] std::vector<EnvironmentEntry> environment(std::uint32_t rank) const override {
    return runs_.at(rank)->environment(rank);
  }
  [[nodiscard]] std::size_t block_count(std::uint32_t rank, std::uint32_t lane) const override {
    return runs_.at(rank)->block_count(rank, lane);
  }
  [[nodiscard]] Block block(std::uint32_t rank, std::uint32_t lane,
                            std::size_t index) const override {
    return runs_.at(rank)->block(rank, lane, index);
  }
  [[nodiscard]] std::optional<std::vector<std::byte>> content(std::uint32_t rank,
                                                              const Digest& digest) const override {
    return runs_.at(rank)->content(rank, digest);
  }

 private:
  RunInfo info_;
  std::map<std::uint32_t, std::unique_ptr<Run>> runs_;
  std::map<std::uint32_t, RankIdentity> identities_;
};

}  // namespace ulpscope::test
