#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "compare/diff/source.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Which memory of one run holds content that is already known to differ from the other run's, and
/// why. Kept by storage and byte range.
class TaintTable {
 public:
  /// `capacity` bounds the storages kept. Those seen in one step only and longest ago go first:
  /// memory that lives on (parameters, buffers, optimizer state) is seen again in later steps.
  explicit TaintTable(std::size_t capacity = std::size_t{1} << 18) : capacity_(capacity) {}

  /// `slot`'s memory now differs because of `source`.
  void taint(const Slot& slot, const Source& source, std::int64_t step);
  /// `slot`'s memory is now known to be equal. Memory between the elements of a value with gaps
  /// keeps its state, and so does what was written later: lanes are not compared in the order in
  /// which they ran.
  void clear(const Slot& slot);
  /// Why `slot`'s memory differs; empty if nothing known is in it.
  [[nodiscard]] std::optional<Source> find(const Slot& slot, std::int64_t step);

  /// Forgets what exceeds the capacity. True if something was forgotten.
  bool purge(std::int64_t step);

  [[nodiscard]] bool empty() const noexcept { return storages_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return storages_.size(); }

 private:
  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    Source source;
    std::uint32_t writes = 0;  ///< Slot::writes of the value that differs
  };
  struct Storage {
    std::vector<Range> ranges;
    std::int64_t first_step = kSetup;
    std::int64_t last_step = kSetup;
  };

  std::unordered_map<std::uint64_t, Storage> storages_;
  std::size_t capacity_;
};

}  // namespace ulpscope::comparison
