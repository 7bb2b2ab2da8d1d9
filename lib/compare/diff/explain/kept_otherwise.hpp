#pragma once

#include "compare/diff/explain/op_pair.hpp"

namespace ulpscope::comparison {

/// What a kernel has saved for its backward; a kernel of a different library or device saves it in
/// a different dtype or shape. The program never sees it, so only results count.
[[nodiscard]] bool is_kept_otherwise(const OpPair& ops, const SlotPair& slot);

}  // namespace ulpscope::comparison
