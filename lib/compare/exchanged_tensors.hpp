#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compare/describe.hpp"
#include "compare/op_comparison.hpp"

namespace ulpscope::comparison {

/// An input that the runs give an op from different ops, each of which the other run has too.
struct ExchangedTensor {
  const SlotPair* slot = nullptr;
  Both<std::string> given;  ///< "result of aten::addmm, layers.0.query, event 12"
};

/// What one op is given.
struct ExchangedTensors {
  std::vector<ExchangedTensor> tensors;
  bool same_set = false;  ///< in all the same tensors, in another order
};

/// Finds the inputs that a program has exchanged among values that differ already, where digests
/// tell nothing: by the ops of the forward pass that wrote them.
class ExchangedTensorFinder {
 public:
  /// @param slots inputs of the pair of ops whose values differ, or are only looked at and lie in
  /// memory that differs. Those that no op of this piece of the step wrote are left aside; copies
  /// that one run alone makes are looked through. Nothing where each run does elsewhere what the
  /// other one does here, so that only the order of ops is another, and where the order of operands
  /// does not matter to the op.
  [[nodiscard]] ExchangedTensors find(const Scene& scene, EventPair at,
                                      const std::vector<const SlotPair*>& slots);

 private:
  /// By which of the partners a tensor was written.
  struct Written {
    const SlotPair* slot = nullptr;
    Both<std::uint64_t> by;
  };

  void begin(const Scene& scene);
  [[nodiscard]] bool both_leave_own(const Scene& scene, std::uint64_t number) const;
  [[nodiscard]] std::uint64_t maker(const Scene& scene, Side side, const Slot& slot) const;
  [[nodiscard]] bool are_same(std::uint64_t reference, std::uint64_t candidate) const;
  [[nodiscard]] std::uint64_t does_the_same(const Scene& scene, Side side, EventPair at,
                                            const std::vector<Written>& written) const;

  std::uint64_t generation_ = 0;
  std::vector<std::uint32_t> candidates_;  ///< items of the candidate, by partner number
  std::set<std::pair<std::uint64_t, std::uint64_t>> reordered_;  ///< numbers of ops that are one
  std::size_t searches_ = 0;
};

}  // namespace ulpscope::comparison
