#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace ulpscope::dump {

/// Finds rows of a table by key. Built at the first lookup: most segments are read without it. May
/// be used by several threads.
template <class Key>
class RowIndex {
 public:
  /// The first row with `key`, of the `rows` that the table has; `key_of` returns the key of one.
  template <class KeyOf>
  [[nodiscard]] std::optional<std::size_t> find(const Key& key, std::size_t rows,
                                                const KeyOf& key_of) const {
    std::call_once(made_, [&] {
      entries_.reserve(rows);
      for (std::size_t row = 0; row < rows; ++row) entries_.emplace_back(key_of(row), row);
      std::ranges::sort(entries_);
    });
    const auto found = std::ranges::lower_bound(entries_, key, {}, &Entry::first);
    if (found == entries_.end() || found->first != key) return std::nullopt;
    return found->second;
  }

 private:
  using Entry = std::pair<Key, std::size_t>;

  mutable std::once_flag made_;
  mutable std::vector<Entry> entries_;
};

}  // namespace ulpscope::dump
