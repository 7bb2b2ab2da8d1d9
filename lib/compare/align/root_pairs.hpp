#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compare/model/side.hpp"
#include "core/forwarded_run.hpp"

namespace ulpscope::comparison {

/// Names of roots in the candidate, and what the reference calls them, by rank of the candidate.
using RootNames = std::map<std::uint32_t, std::map<std::string, std::string, std::less<>>>;

/// Roots of one class are numbered as they come, which is a race where threads train side by side,
/// and another order where a program calls its twins in one.
/// Partners are those that begin with the same parameters and buffers, first in lanes that are
/// partners, then in any; else the first ones in such lanes, else those of one name, else any of
/// one class. A class may have been renamed: what has no partner then is paired with one of another
/// class that begins with the same parameters and buffers, or with some of the same names.
/// @returns those whose name is another one.
[[nodiscard]] RootNames pair_roots(const Both<const Run*>& runs,
                                   const std::vector<Both<std::uint32_t>>& ranks);

/// A candidate as it would be with the reference's names of roots.
class RootedRun : public ForwardedRun {
 public:
  /// `run` must outlive it.
  RootedRun(const Run& run, RootNames names) : ForwardedRun(run), names_(std::move(names)) {}

  [[nodiscard]] Block block(std::uint32_t rank, std::uint32_t lane,
                            std::size_t index) const override;

 private:
  RootNames names_;
};

}  // namespace ulpscope::comparison
