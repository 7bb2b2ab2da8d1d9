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

/// The numbers that the program of each run reads: outcomes, whatever it does with them. One that
/// is read from a value which both runs have is equal in both, whether the other program reads it
/// or not. But what one run alone has computed and read needs an equal among the numbers of the
/// other; and where either has read one that the other has not, they may have read it in its place.
/// What a program does with a number nobody sees.
class NumbersRead {
 public:
  void read(Side side, const Event& op);

  /// An op without a partner read a number; `computed`: from what its run alone has computed.
  void read_alone(Side side, const Event& op, bool computed);

  /// How many of those need an equal and have none.
  [[nodiscard]] std::uint64_t without_equal(Side side) const;
  /// More were read than are kept.
  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }

 private:
  static constexpr std::size_t kKept = std::size_t{1} << 20;

  Both<std::unordered_set<std::uint64_t>> numbers_;
  struct Alone {
    std::uint64_t number = 0;
    bool computed = false;
  };
  [[nodiscard]] bool has_equal(Side side, const Alone& alone) const;

  Both<std::vector<Alone>> alone_;
  bool overflowed_ = false;
};

}  // namespace ulpscope::comparison
