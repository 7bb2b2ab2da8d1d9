#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compare/side.hpp"
#include "core/forwarded_run.hpp"

namespace ulpscope::comparison {

/// Names of roots in the candidate, and what the reference calls them, by rank of the candidate.
using RootNames = std::map<std::uint32_t, std::map<std::string, std::string, std::less<>>>;

/// Roots of one class are numbered as the program shows them ("Net", "Net#2"), which threads do in
/// any order. A root that begins with other parameters than the one of its number is the one of its
/// class that begins with the same. Empty if all go by the same number, or only one thread shows
/// roots.
[[nodiscard]] RootNames renumbered_roots(const Both<const Run*>& runs,
                                         const std::vector<Both<std::uint32_t>>& ranks);

/// A candidate whose roots go by the reference's numbers.
class RenumberedRun : public ForwardedRun {
 public:
  /// `run` must outlive it.
  RenumberedRun(const Run& run, RootNames names) : ForwardedRun(run), names_(std::move(names)) {}

  [[nodiscard]] Block block(std::uint32_t rank, std::uint32_t lane,
                            std::size_t index) const override;

 private:
  RootNames names_;
};

}  // namespace ulpscope::comparison
