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
  std::uint64_t wanted = 0;     ///< steps requested; 0: as many as the program has
  std::uint64_t limit = 0;      ///< bytes after which contents end; 0: none
};

/// "a step takes about 212 MB, the 50 of --steps 10.6 GB; the disk has 81 GB free"
[[nodiscard]] std::string in_words(const StepCost& cost);

/// Measures steps near the beginning of a recording that keeps bytes.
class CostEstimate {
 public:
  CostEstimate(std::filesystem::path directory, std::uint64_t wanted_steps, std::uint64_t limit)
      : directory_(std::move(directory)), wanted_(wanted_steps), limit_(limit) {}

  /// The cost, once: what the dump has grown by since the second step was known, when two more
  /// are. `steps`: how many are known and kept, which can be fewer than before.
  [[nodiscard]] std::optional<StepCost> look(std::uint64_t steps);

 private:
  struct Seen {
    std::uint64_t steps;
    std::uint64_t bytes;
  };

  std::filesystem::path directory_;
  std::uint64_t wanted_;
  std::uint64_t limit_;
  std::optional<Seen> from_;
  bool done_ = false;
};

}  // namespace ulpscope::cli
