#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "compare/align/entry.hpp"
#include "compare/align/window_pair.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// Ops of setup that both runs have, but in a different order: a model's layers may be created in
/// any order. They are not the same ops with different shapes.
class SetupOrder {
 public:
  /// `windows` must outlive this.
  explicit SetupOrder(const WindowPair& windows) : windows_(windows) {}

  /// Notes what strict alignment has left in setup.
  void note_alone(const std::vector<Entry>& entries);

  /// The other run has it elsewhere.
  [[nodiscard]] bool differs(Side side, std::uint32_t item) const;

 private:
  const WindowPair& windows_;
  Both<std::unordered_set<std::uint64_t>> alone_;  ///< by structure
};

}  // namespace ulpscope::comparison
