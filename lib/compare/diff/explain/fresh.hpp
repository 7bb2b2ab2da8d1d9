#pragma once

#include <cstdint>
#include <vector>

#include "compare/diff/explain/op_pair.hpp"

/// Values that differ for no reason that is known: findings.
namespace ulpscope::comparison {

/// A finding for each kind of reason: data, a parameter, a write that no op made, other tensors.
void enter_each_kind(OpPair& ops, const std::vector<const SlotPair*>& fresh);

/// One finding of that kind.
void enter_fresh(OpPair& ops, FindingKind kind, const std::vector<const SlotPair*>& fresh);

/// What a finding says of the first of them.
void describe_fresh(const OpPair& ops, Record& record, FindingKind kind, const SlotPair& slot);

/// Which arguments these are, as a key.
[[nodiscard]] std::uint64_t inputs_key(const std::vector<const SlotPair*>& slots);

/// Its results were compared, and none differs.
[[nodiscard]] bool gives_the_same(const OpPair& ops);

}  // namespace ulpscope::comparison
