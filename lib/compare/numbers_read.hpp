#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "compare/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// The op hands a number to the program, such as `item`.
[[nodiscard]] bool reads_number(const Event& op);

/// The numbers that the program of each run reads. A number more that one run reads, such as a
/// metric, changes nothing that both have. But if each reads one that the other does not read, one
/// may have been read in place of the other, and what the programs do with them nobody sees.
class NumbersRead {
 public:
  void read(Side side, const Event& op);

  /// An op without a partner read a number.
  void read_alone(Side side, const Event& op);

  /// How many of those the other run has not read, if each run has such numbers; else 0.
  [[nodiscard]] std::uint64_t replaced(Side side) const;
  /// More were read than are kept.
  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }

 private:
  static constexpr std::size_t kKept = std::size_t{1} << 20;

  Both<std::unordered_set<std::uint64_t>> numbers_;
  [[nodiscard]] std::uint64_t without_equal(Side side) const;

  Both<std::vector<std::uint64_t>> alone_;
  bool overflowed_ = false;
};

}  // namespace ulpscope::comparison
