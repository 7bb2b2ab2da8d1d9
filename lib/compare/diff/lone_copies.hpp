#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "compare/align/op_comparison.hpp"
#include "compare/align/storage_pairs.hpp"
#include "compare/diff/ledger.hpp"
#include "compare/diff/outcomes/alone_memory.hpp"
#include "compare/diff/source.hpp"

namespace ulpscope::comparison {

/// Tensors of one run that stand for two of the other one, which has made a copy: what is done to
/// the copy there is done to the original here.
class LoneCopies {
 public:
  /// `side` has made the copy.
  struct Copy {
    Side side = Side::reference;
    Source source;         ///< the ops that made it
    bool written = false;  ///< an op and its partner have since written the copy and the original
  };

  /// What an op and its partner are given, and write.
  void passed(const std::vector<SlotPair>& slots, const Both<AloneMemory>& alone,
              const StoragePairs& pairs, const Ledger& ledger);

  /// The copy that one run has made of what both give to an op here.
  [[nodiscard]] std::optional<Copy> of_original(const SlotPair& slot,
                                                const StoragePairs& pairs) const;

 private:
  struct Known {
    std::uint64_t copy = 0;  ///< the storage of the other run
    Source source;
    bool written = false;
  };
  Both<std::map<std::uint64_t, Known>> by_original_;  ///< by the storage of the run without a copy
};

}  // namespace ulpscope::comparison
