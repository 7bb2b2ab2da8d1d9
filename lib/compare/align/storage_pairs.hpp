#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "compare/align/op_comparison.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// Which storage of the candidate is which of the reference: those that an op and its partner made,
/// or read first, with equal content. Who has written there since makes no difference, nor what.
class StoragePairs {
 public:
  /// The tensors of an op and its partner.
  void passed(const std::vector<SlotPair>& slots);
  /// Those of them that are equal.
  void passed_equal(const std::vector<SlotPair>& slots);

  /// The other run's storage; empty if it is not known, or `storage` is memory of one run alone.
  [[nodiscard]] std::optional<std::uint64_t> partner(Side side, std::uint64_t storage) const;

  /// Both have partners, and they are not each other's.
  [[nodiscard]] bool are_two(std::uint64_t reference, std::uint64_t candidate) const;

 private:
  static constexpr std::size_t kMostRanges = std::size_t{1} << 20;

  /// Storages in a row whose partners are in a row, too: they are numbered in the order in which
  /// ops met them.
  struct Range {
    std::uint64_t partner = 0;  ///< of the first
    std::uint64_t count = 0;
  };
  using Ranges = std::map<std::uint64_t, Range>;  ///< by the first

  [[nodiscard]] static std::optional<std::uint64_t> find(const Ranges& ranges,
                                                         std::uint64_t storage);
  [[nodiscard]] bool is_new(Side side, std::uint64_t storage) const;
  void pair(const SlotPair& slot);
  void pair(std::uint64_t reference, std::uint64_t candidate);

  Both<Ranges> ranges_;
  Both<Ranges::iterator> last_;  ///< to which storages were added last, if there are any
};

}  // namespace ulpscope::comparison
