#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include "compare/model/hash.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// The values that one run has computed with since its last update of parameters while it prepared
/// the data of a step. A batch that is only prepared is not among them.
class DataReads {
 public:
  void passed(const Event& event) {
    if (event.phase == Phase::backward || event.phase == Phase::optimizer) {
      known_.clear();
      made_.clear();
    }
    const bool prepares =
        !event.has_module && (event.phase == Phase::data || event.phase == Phase::setup);
    if (!prepares || event.kind != EventKind::op || (event.flags & event_flag::view)) return;
    for (const Slot& slot : event.slots) {
      std::unordered_set<std::uint64_t>& values = slot.role == Role::input ? known_ : made_;
      if (values.size() < kMost &&
          !(slot.flags & (slot_flag::no_digest | slot_flag::uninitialised)))
        values.insert(KeyHash().add(slot.digest).value());
    }
  }

  [[nodiscard]] bool contain(const Digest& digest) const {
    return known_.contains(KeyHash().add(digest).value());
  }

  /// An op has made it there, or it is contained.
  [[nodiscard]] bool contain_or_made(const Digest& digest) const {
    return contain(digest) || made_.contains(KeyHash().add(digest).value());
  }

 private:
  static constexpr std::size_t kMost = 1 << 16;
  std::unordered_set<std::uint64_t> known_;
  std::unordered_set<std::uint64_t> made_;
};

}  // namespace ulpscope::comparison
