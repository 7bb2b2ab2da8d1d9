#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compare/align/op_comparison.hpp"
#include "compare/diff/describe.hpp"

namespace ulpscope::comparison {

/// An input that the runs give an op from different ops, or parts of a result, that both have.
struct ExchangedTensor {
  const SlotPair* slot = nullptr;
  Both<std::string> given;  ///< "result of aten::addmm, layers.0.query, event 12"
};

/// The inputs of one op.
struct ExchangedTensors {
  std::vector<ExchangedTensor> tensors;
  bool same_set = false;  ///< in all the same tensors, in a different order
};

/// Finds the inputs that a program has exchanged among values that differ already, where digests do
/// not help: by the ops of the forward pass that made them, in the same lane and the same piece of
/// a step. Copies that only one run makes are followed to their source.
class ExchangedTensorFinder {
 public:
  /// @param slots inputs of the pair of ops whose values differ, or that are not read and lie in
  /// memory that differs; those without a known producer are ignored. Empty if each run does
  /// elsewhere what the other one does here, so that only the order of ops differs; if the order of
  /// operands does not matter to the op; and if so many ops of this piece of the step seem to
  /// exchange theirs that it is more likely aligned wrongly.
  [[nodiscard]] ExchangedTensors find(const Scene& scene, EventPair at,
                                      const std::vector<const SlotPair*>& slots);

 private:
  /// What a slot reads, if that can be determined without its values.
  struct Origin {
    std::uint64_t maker = 0;  ///< partner number of the op, 0: not known
    std::int64_t part = 0;    ///< offset in its result, if both runs have the same layout
    std::string_view name;    ///< of a parameter or buffer
    const Slot* slot = nullptr;

    [[nodiscard]] bool known() const noexcept { return maker != 0 || !name.empty(); }
  };

  void begin(const Scene& scene);
  [[nodiscard]] bool both_leave_own(const Scene& scene, std::uint64_t number) const;
  [[nodiscard]] bool are_laid_out_alike(const Scene& scene, std::uint64_t number) const;
  [[nodiscard]] Origin origin(const Scene& scene, Side side, const Slot& slot) const;
  [[nodiscard]] std::uint64_t in_reference(std::uint64_t candidate) const;
  [[nodiscard]] bool are_same(const Origin& reference, const Origin& candidate) const;
  [[nodiscard]] std::optional<std::uint32_t> does_the_same(const Scene& scene, Side side,
                                                           EventPair at) const;

  std::uint64_t generation_ = 0;
  std::vector<std::uint32_t> candidates_;  ///< items of the candidate, by partner number
  /// Numbers of ops that are elsewhere in the other run, and their numbers there.
  std::map<std::uint64_t, std::uint64_t> moved_;    ///< by that in the reference
  std::map<std::uint64_t, std::uint64_t> origins_;  ///< by that in the candidate
  std::size_t searches_ = 0;
};

}  // namespace ulpscope::comparison
