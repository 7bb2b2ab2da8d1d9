#pragma once

#include <cstdint>
#include <map>

#include "compare/align/entry.hpp"
#include "compare/align/storage_pairs.hpp"
#include "compare/align/window_pair.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// Items of the candidate, by those of the reference.
using ItemPartners = std::map<std::uint32_t, std::uint32_t>;

/// Whether items of two windows are given the same tensors: as names, memory that earlier windows
/// know, and the partners of what wrote there show it.
class GivenTensors {
 public:
  /// Both must outlive this.
  GivenTensors(const WindowPair& windows, const StoragePairs& storages)
      : windows_(windows), storages_(storages) {}

  /// Equal for items that are given the same tensors, as far as names or earlier windows show that.
  [[nodiscard]] std::uint64_t key(Side side, std::uint32_t item) const;

  /// Nothing shows that the two items of an entry are given different tensors: neither names and
  /// memory, nor, outside of backward, what of this window has last written them.
  [[nodiscard]] bool may_be_same(const Entry& entry, const ItemPartners& partners) const;

  /// For each tensor that `reference` is given or writes, `candidate` has the same one, with the
  /// same content.
  [[nodiscard]] bool are_same(std::uint32_t reference, std::uint32_t candidate,
                              const ItemPartners& partners) const;

 private:
  [[nodiscard]] bool may_be_in_same_memory(const Entry& entry) const;
  [[nodiscard]] bool are_of_partners(const Entry& entry, const ItemPartners& partners) const;
  [[nodiscard]] bool is_same_tensor(const Slot& reference, const Slot& candidate,
                                    const ItemPartners& partners) const;

  const WindowPair& windows_;
  const StoragePairs& storages_;
};

}  // namespace ulpscope::comparison
