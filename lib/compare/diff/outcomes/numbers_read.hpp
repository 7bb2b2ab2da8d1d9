#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// The numbers that one run's program reads and the other's does not, and the lists of them. One
/// more, such as a metric, changes nothing that both have. But if each reads one that the other
/// does not read, one may have been read in place of the other, and what the programs do with them
/// nobody sees. A list in place of its numbers is none.
class NumbersRead {
 public:
  /// Takes in what an op without a partner gives to the program if that is a number and nothing
  /// else, as `item` does, or all elements of a tensor, as on the way to NumPy or a list.
  void read_alone(Side side, const Event& op);

  /// How often a run has read a number or a list that the other run has read less often, if that is
  /// so of both runs; else 0.
  [[nodiscard]] std::uint64_t replaced(Side side) const;
  /// More were read than are kept.
  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }

 private:
  static constexpr std::size_t kKept = std::size_t{1} << 20;

  /// How much more often the reference has read it than the candidate.
  using More = std::unordered_map<std::uint64_t, std::int64_t>;

  void add(More& more, Side side, std::uint64_t read);

  More numbers_;
  More lists_;
  bool overflowed_ = false;
};

}  // namespace ulpscope::comparison
