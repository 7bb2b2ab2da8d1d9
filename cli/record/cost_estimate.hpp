#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "dump/recording.hpp"

namespace ulpscope::cli {

/// What one step of a recording takes on the disk.
struct StepCost {
  std::uint64_t bytes = 0;      ///< of one step
  std::uint64_t disk_free = 0;  ///< where the dump is
  std::uint64_t wanted = 0;     ///< steps asked for; 0: as many as the program has
  std::uint64_t limit = 0;      ///< bytes after which contents end; 0: none
};

/// "a step takes about 212 MB, the 50 of --steps 10.6 GB; the disk has 81 GB free"
[[nodiscard]] std::string in_words(const StepCost& cost);

/// Measures the first steps of a recording that keeps bytes.
class CostEstimate {
 public:
  CostEstimate(std::filesystem::path directory, std::uint64_t wanted_steps, std::uint64_t limit)
      : directory_(std::move(directory)), wanted_(wanted_steps), limit_(limit) {}

  /// The cost, once: when a second step is known. That one is over then too, because a step is
  /// only known by the optimizer's step at its end.
  [[nodiscard]] std::optional<StepCost> look(std::uint64_t steps);

 private:
  std::filesystem::path directory_;
  std::uint64_t wanted_;
  std::uint64_t limit_;
  std::optional<std::uint64_t> setup_bytes_;
  bool done_ = false;
};

}  // namespace ulpscope::cli
