#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// A setting of two runs over their whole length: "1", or "1, from step 5: 2" where the program
/// changed it; empty if a run does not have it.
struct SettingPair {
  std::string key;
  std::optional<std::string> reference;
  std::optional<std::string> candidate;
  bool can_change_bits = false;

  [[nodiscard]] bool equal() const { return reference == candidate; }
};

/// The settings of two ranks, by key; without those of the recorder itself.
[[nodiscard]] std::vector<SettingPair> settings_pairs(const Run& reference,
                                                      std::uint32_t reference_rank,
                                                      const Run& candidate,
                                                      std::uint32_t candidate_rank);

}  // namespace ulpscope::cli
