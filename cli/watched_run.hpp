#pragma once

#include <functional>
#include <map>
#include <utility>

#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// A run that tells how much of it has been read.
class WatchedRun : public Run {
 public:
  /// Events read for the first time, or bytes of values.
  using Told = std::function<void(std::uint64_t)>;

  /// `run` must outlive it.
  WatchedRun(const Run& run, Told events, Told bytes)
      : run_(run), events_(std::move(events)), bytes_(std::move(bytes)) {}

  [[nodiscard]] const RunInfo& info() const override { return run_.info(); }
  [[nodiscard]] std::vector<std::uint32_t> ranks() const override { return run_.ranks(); }
  [[nodiscard]] std::vector<Lane> lanes(std::uint32_t rank) const override {
    return run_.lanes(rank);
  }
  [[nodiscard]] std::vector<EnvironmentEntry> environment(std::uint32_t rank) const override {
    return run_.environment(rank);
  }
  [[nodiscard]] std::size_t block_count(std::uint32_t rank, std::uint32_t lane) const override {
    return run_.block_count(rank, lane);
  }
  [[nodiscard]] Block block(std::uint32_t rank, std::uint32_t lane,
                            std::size_t index) const override;
  [[nodiscard]] std::optional<std::vector<std::byte>> content(std::uint32_t rank,
                                                              const Digest& digest) const override;
  [[nodiscard]] std::unique_ptr<ContentReader> open_content(std::uint32_t rank,
                                                            const Digest& digest) const override;
  [[nodiscard]] std::optional<std::uint64_t> content_size(std::uint32_t rank,
                                                          const Digest& digest) const override {
    return run_.content_size(rank, digest);
  }
  [[nodiscard]] std::vector<LayerValue> layer_values(std::uint32_t rank) const override {
    return run_.layer_values(rank);
  }
  [[nodiscard]] std::optional<Statistics> statistics(std::uint32_t rank, const Digest& digest,
                                                     Dtype dtype) const override {
    return run_.statistics(rank, digest, dtype);
  }

 private:
  const Run& run_;
  Told events_;
  Told bytes_;
  mutable std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t>
      read_;  ///< blocks of lanes
};

}  // namespace ulpscope::cli
