#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "compare/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// The op returns a number to the program.
[[nodiscard]] bool gives_number(const Event& op);

/// The numbers that the program of each run reads. A number more that one run reads, such as a
/// metric, changes nothing that both have. But if each reads one that the other does not read, one
/// may have been read in place of the other, and what the programs do with them nobody sees.
class NumbersRead {
 public:
  /// Takes in what the op gives to the program if that is a number and nothing else, as `item`
  /// does.
  void read(Side side, const Event& op);

  /// The same of an op without a partner, which has been read, too.
  void read_alone(Side side, const Event& op);

  /// How many of those the other run has not read, if each run has such numbers; else 0.
  [[nodiscard]] std::uint64_t replaced(Side side) const;
  /// More were read than are kept.
  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }

 private:
  static constexpr std::size_t kKept = std::size_t{1} << 20;

  [[nodiscard]] std::uint64_t without_equal(Side side) const;

  Both<std::unordered_set<std::uint64_t>> numbers_;
  Both<std::vector<std::uint64_t>> alone_;
  bool overflowed_ = false;
};

}  // namespace ulpscope::comparison
