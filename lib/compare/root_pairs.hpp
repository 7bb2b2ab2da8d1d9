#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compare/side.hpp"
#include "core/forwarded_run.hpp"

namespace ulpscope::comparison {

/// Names of the candidate's roots, each with the name of the reference's root that it is.
using RootNames = std::map<std::string, std::string, std::less<>>;

/// Roots of one class are numbered as they come, which is a race where threads train side by side.
/// Partners are those that begin with the same parameters and buffers, first in lanes that are
/// partners, then in any; else the first ones in such lanes, else those of one name, else any.
///
/// @param pairs lanes in the order in which they count.
/// @returns those whose name is another one.
[[nodiscard]] RootNames pair_roots(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
                                   const std::vector<Both<std::optional<Lane>>>& pairs);

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
