#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "compare/align/entry.hpp"
#include "compare/align/given_tensors.hpp"
#include "compare/align/storage_pairs.hpp"
#include "compare/align/window_pair.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// Where both runs do the same in another order, as where independent statements are exchanged:
/// which items do the same, those included that have not moved.
class MovedItems {
 public:
  /// Nothing has moved.
  MovedItems() = default;
  explicit MovedItems(ItemPartners partners);

  [[nodiscard]] bool empty() const noexcept { return partners_.empty(); }

  /// `structure`, but of an item that has its partner here a key that it shares with that alone.
  [[nodiscard]] std::uint64_t by_partner(std::uint64_t structure, Side side,
                                         std::uint32_t item) const;

  /// What has moved past partners is aligned where the reference has it.
  [[nodiscard]] std::vector<Entry> with_moved(const std::vector<Entry>& entries) const;

 private:
  ItemPartners partners_;
  Both<std::map<std::uint32_t, std::uint64_t>> keys_;  ///< by item, equal for partners
};

/// Ops, and looks at a model's parameters, without a partner that is given and makes the same, if
/// both runs have the same ones of them: only their order differs. Each is paired with the one that
/// does the same, and so are those that have not moved. Of backward, which may add up gradients in
/// another order then, too, if it has the same ones as well.
[[nodiscard]] MovedItems find_moved_items(const WindowPair& windows, const StoragePairs& storages,
                                          const std::vector<Entry>& entries);

}  // namespace ulpscope::comparison
