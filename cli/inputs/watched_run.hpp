#pragma once

#include <functional>
#include <map>
#include <utility>

#include "core/forwarded_run.hpp"

namespace ulpscope::cli {

/// A run that reports how much of it has been read.
class WatchedRun : public ForwardedRun {
 public:
  /// Events read for the first time, or bytes of values.
  using Told = std::function<void(std::uint64_t)>;

  /// `run` must outlive it.
  WatchedRun(const Run& run, Told events, Told bytes)
      : ForwardedRun(run), events_(std::move(events)), bytes_(std::move(bytes)) {}

  [[nodiscard]] Block block(std::uint32_t rank, std::uint32_t lane,
                            std::size_t index) const override;
  [[nodiscard]] std::optional<std::vector<std::byte>> content(std::uint32_t rank,
                                                              const Digest& digest) const override;
  [[nodiscard]] std::unique_ptr<ContentReader> open_content(std::uint32_t rank,
                                                            const Digest& digest) const override;
  [[nodiscard]] std::vector<LayerValue> layer_values(std::uint32_t rank) const override {
    return run().layer_values(rank);
  }

 private:
  Told events_;
  Told bytes_;
  mutable std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t>
      read_;  ///< blocks of lanes
};

}  // namespace ulpscope::cli
