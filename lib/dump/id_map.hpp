#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ulpscope::dump {

/// A map from 64-bit ids to small numbers that is emptied for every block: open addressing, so that
/// neither filling nor emptying it allocates once it has grown.
class IdMap {
 public:
  /// The number stored for `id`; `fresh` is stored and returned if there was none.
  std::uint32_t find_or_add(std::uint64_t id, std::uint32_t fresh, bool& added) {
    if ((used_ + 1) * 2 > slots_.size()) grow();
    Entry& entry = place(id);
    added = entry.generation != generation_;
    if (added) {
      entry = {id, fresh, generation_};
      ++used_;
    }
    return entry.number;
  }

  void clear() noexcept {
    used_ = 0;
    ++generation_;
  }

 private:
  struct Entry {
    std::uint64_t id = 0;
    std::uint32_t number = 0;
    std::uint32_t generation = 0;
  };

  Entry& place(std::uint64_t id) noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (id * 0x9e3779b97f4a7c15ULL >> 32) & mask;
    while (slots_[at].generation == generation_ && slots_[at].id != id) at = (at + 1) & mask;
    return slots_[at];
  }

  void grow() {
    auto old = std::move(slots_);
    slots_.assign(old.empty() ? 1024 : old.size() * 2, Entry{});
    for (const Entry& entry : old) {
      if (entry.generation == generation_) place(entry.id) = entry;
    }
  }

  std::vector<Entry> slots_;
  std::size_t used_ = 0;
  std::uint32_t generation_ = 1;
};

}  // namespace ulpscope::dump
