#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compare/report/checks/check.hpp"
#include "compare/report/checks/nesting.hpp"

namespace ulpscope::comparison {

/// An op that ran in forward and again in backward, on equal inputs and with a different result.
struct Recomputed {
  std::int64_t step = 0;
  std::string op;
  std::string module;
  std::uint64_t forward_event = kNone;
  std::uint64_t backward_event = kNone;
  bool other_draws = false;  ///< it drew random numbers from a different state
};

/// Follows a lane and finds recomputed forwards (activation checkpointing) whose results changed.
class RecomputeCollector {
 public:
  void see(const Lane& lane, const Block& block);

  [[nodiscard]] const std::vector<Recomputed>& found() const noexcept { return found_; }
  [[nodiscard]] Check check() const;

 private:
  static constexpr std::size_t kKept = 64;

  struct Seen {
    std::uint64_t event = kNone;
    std::uint64_t result = 0;
    std::optional<Digest> state;  ///< of the generator before it, where it drew
  };
  struct LaneState {
    Nesting nesting;
    std::int64_t step = kSetup;
    std::unordered_map<std::uint64_t, std::vector<Seen>> forward;  ///< by op, module and inputs
  };

  void compare(const Event& event, std::int64_t step, const std::vector<Seen>& before);

  std::unordered_map<std::uint32_t, LaneState> lanes_;
  std::vector<Recomputed> found_;
  std::uint64_t equal_ = 0;
  std::uint64_t differing_ = 0;
};

/// In one step only.
[[nodiscard]] std::vector<Recomputed> recomputed_in(const Run& run, std::uint32_t rank,
                                                    std::int64_t step);

/// "aten::dropout of layer1 at event 12, in forward at event 3".
[[nodiscard]] std::string words(const Recomputed& recomputed);

}  // namespace ulpscope::comparison
