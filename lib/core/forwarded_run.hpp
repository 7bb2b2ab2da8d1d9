#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope {

/// A run that forwards to a different one. Layer values are not forwarded: a run with renamed
/// modules would show them under the old names.
class ForwardedRun : public Run {
 public:
  /// `run` must outlive it.
  explicit ForwardedRun(const Run& run) : run_(run) {}

  [[nodiscard]] const RunInfo& info() const override { return run_.info(); }
  [[nodiscard]] std::vector<std::uint32_t> ranks() const override { return run_.ranks(); }
  [[nodiscard]] std::vector<Lane> lanes(std::uint32_t rank) const override {
    return run_.lanes(rank);
  }
  [[nodiscard]] RankIdentity identity(std::uint32_t rank) const override {
    return run_.identity(rank);
  }
  [[nodiscard]] std::vector<EnvironmentEntry> environment(std::uint32_t rank) const override {
    return run_.environment(rank);
  }
  [[nodiscard]] std::size_t block_count(std::uint32_t rank, std::uint32_t lane) const override {
    return run_.block_count(rank, lane);
  }
  [[nodiscard]] Block block(std::uint32_t rank, std::uint32_t lane,
                            std::size_t index) const override {
    return run_.block(rank, lane, index);
  }
  [[nodiscard]] std::optional<std::vector<std::byte>> content(std::uint32_t rank,
                                                              const Digest& digest) const override {
    return run_.content(rank, digest);
  }
  [[nodiscard]] std::unique_ptr<ContentReader> open_content(std::uint32_t rank,
                                                            const Digest& digest) const override {
    return run_.open_content(rank, digest);
  }
  [[nodiscard]] std::optional<std::uint64_t> content_size(std::uint32_t rank,
                                                          const Digest& digest) const override {
    return run_.content_size(rank, digest);
  }
  [[nodiscard]] std::optional<Statistics> statistics(std::uint32_t rank, const Digest& digest,
                                                     Dtype dtype) const override {
    return run_.statistics(rank, digest, dtype);
  }

 protected:
  [[nodiscard]] const Run& run() const noexcept { return run_; }

 private:
  const Run& run_;
};

}  // namespace ulpscope
