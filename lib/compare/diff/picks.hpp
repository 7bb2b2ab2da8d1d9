#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ulpscope/report.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// The places that ops of a finding pick from tensors, where the runs pick different ones: rows, or
/// ranges of them.
struct Picks {
  static constexpr std::size_t kMostPlaces = 4096;

  Both<std::map<std::string, std::uint64_t>> places;  ///< how often, by the arguments that differ
  std::set<double> distances;  ///< candidate - reference, of the first of these; at most two
  bool overflowed = false;     ///< there are more places

  void add(const std::vector<ArgumentReport>& arguments);
  void add(const Picks& others);

  /// Both runs pick the same places.
  [[nodiscard]] bool in_another_order() const;
  /// A constant of the program moves all of them by one distance. So does a batch that begins
  /// elsewhere; other samples do not.
  [[nodiscard]] bool vary() const noexcept { return distances.size() > 1; }
  [[nodiscard]] bool any() const noexcept { return !distances.empty(); }
};

/// Whether these arguments of an op are integers that say which part of a tensor it picks.
[[nodiscard]] bool pick_a_part(const Event& op, const std::vector<ArgumentReport>& arguments);

}  // namespace ulpscope::comparison
