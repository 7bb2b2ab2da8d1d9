#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compare/align/entry.hpp"
#include "compare/model/scene.hpp"

namespace ulpscope::comparison {

/// A window of each run and how their items are aligned.
class AlignedWindows {
 public:
  /// Holds these windows from now on, without entries.
  void hold(Both<std::unique_ptr<Window>> windows);
  void set_entries(std::vector<Entry> entries);
  /// Leaves the first `kept` entries, followed by items without a partner: those of each side from
  /// the first of its items to one before the last.
  void replace_entries(std::size_t kept, const Both<std::uint32_t>& first,
                       const Both<std::uint32_t>& last);

  [[nodiscard]] const Window& window(Side side) const { return *on(windows_, side); }
  [[nodiscard]] Both<const Window*> windows() const {
    return {windows_.reference.get(), windows_.candidate.get()};
  }
  [[nodiscard]] std::uint32_t items(Side side) const {
    return static_cast<std::uint32_t>(window(side).items().size());
  }
  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
  /// The candidate has some of its items in another order.
  [[nodiscard]] bool crosses() const noexcept { return crosses_; }
  [[nodiscard]] EventPair events_of(const Entry& entry) const;

  /// A number for the partners that the event at `position` belongs to, the same on both sides; 0
  /// if it has no partner here.
  [[nodiscard]] std::uint64_t partner_number(Side side, std::uint64_t position) const;
  /// The same of each item of `side`, without pairs by name alone.
  [[nodiscard]] const std::vector<std::uint64_t>& certain_partners(Side side) const {
    return on(certain_partners_, side);
  }
  /// Changes whenever others are held: events and entries of before are gone then.
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }

 private:
  void number_partners();

  Both<std::unique_ptr<Window>> windows_;
  std::vector<Entry> entries_;
  Both<std::vector<std::uint64_t>> partner_numbers_;  ///< by item
  Both<std::vector<std::uint64_t>> certain_partners_;
  bool crosses_ = false;
  std::uint64_t generation_ = 0;
};

}  // namespace ulpscope::comparison
