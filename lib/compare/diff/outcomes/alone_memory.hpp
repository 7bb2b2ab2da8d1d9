#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "compare/model/content.hpp"
#include "compare/model/window.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// An op takes what is in the memory of this slot.
[[nodiscard]] constexpr bool reads(const Slot& slot) noexcept {
  return slot.role == Role::input && !(slot.flags & slot_flag::metadata_only);
}

/// An op leaves something in the memory of this slot.
[[nodiscard]] constexpr bool writes(const Slot& slot) noexcept {
  constexpr std::uint32_t kNothing = slot_flag::undefined | slot_flag::view |
                                     slot_flag::uninitialised | slot_flag::scratch |
                                     slot_flag::handle;
  return slot.role != Role::input && !(slot.flags & kNothing);
}

/// Memory of one run that ops without a partner have made, and which ops have read what was written
/// there last. A view reads nothing, nor does an op of one run alone that only asks whether a
/// tensor can take the memory over.
class AloneMemory {
 public:
  /// What the results of an op that reads are compared with.
  enum class Partner : std::uint8_t {
    none,
    given_others,     ///< an op that is given other contents, and may give the same all the same
    diverged_before,  ///< likewise, after a difference that may have led to them, too
    given_the_same,
  };

  /// Takes in what an op without a partner wrote.
  void wrote(const Event& op);
  /// Takes in what an op without a partner, which no other op calls, wrote to memory that such ops
  /// did not make; after `wrote`.
  void changed(const Event& op);
  /// Takes in what an op without a partner, which no other op calls, gave to the program; after
  /// `wrote`.
  void returned(const Event& op);
  /// Takes in what an op reads, and the ops that it calls; before what it writes.
  void read(const Window& window, std::uint32_t item, Partner partner);

  /// Memory that ops of both runs have made, and what was last written there.
  struct Change {
    std::uint64_t storage = 0;
    Content content;
  };
  /// Memory that no longer holds what it did before `changed`, and that no op with a partner has
  /// read since, or written as a whole.
  [[nodiscard]] std::vector<Change> changes() const;

  [[nodiscard]] bool made(const Slot& slot) const { return made_.contains(slot.storage); }
  /// What the slot holds is what an op without a partner that led to it was given, such as a copy
  /// or a number negated twice; in memory that no other op had written before.
  [[nodiscard]] bool is_copy(const Slot& slot) const;
  /// No op has read it.
  [[nodiscard]] bool is_unread(const Slot& slot) const { return is_unread(slot.storage); }
  [[nodiscard]] bool is_unread(std::uint64_t storage) const { return is(storage, Reader::none); }
  /// No op has read it whose results were compared. `diverge`: the runs do, so what ops are given
  /// differs for other reasons, too.
  [[nodiscard]] bool is_uncompared(const Slot& slot, bool diverge) const {
    return is_unread(slot) || is(slot.storage, Reader::alone) ||
           (!diverge && is(slot.storage, Reader::after_divergence));
  }
  /// Memory that a tensor of the program has taken over by `set_data`, and that no op has read
  /// whose results were compared, as in is_uncompared(); copies aside.
  [[nodiscard]] std::vector<std::uint64_t> adopted(bool diverge) const;
  /// What the program got from an op without a partner whose results no op has read.
  struct Unread {
    std::uint64_t storage = 0;
    Content content;
    std::vector<std::uint64_t> sources;  ///< memory that ops of both runs made, and that led to it
  };
  /// Copies aside, and what backward leaves.
  [[nodiscard]] std::vector<Unread> unread() const;
  /// How many ops without a partner, which no other op calls, have read memory that ops of both
  /// runs made. Empty: since then an op with a partner has.
  [[nodiscard]] std::optional<std::uint64_t> reads(std::uint64_t storage) const;
  /// Ops without a partner wrote something.
  [[nodiscard]] bool any() const noexcept { return any_; }
  /// More was written than is kept.
  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }

 private:
  static constexpr std::size_t kKept = std::size_t{1} << 20;

  static constexpr std::size_t kContentsKept = 16;

  enum class Reader : std::uint8_t { none, alone, after_divergence, partnered };

  struct Made {
    Reader reader = Reader::none;
    bool adopted = false;
    Content now;                         ///< what was written there last
    std::vector<Content> from;           ///< what the ops that led to it were given
    std::vector<std::uint64_t> sources;  ///< memory of ops of both runs among that

    [[nodiscard]] bool is_copy(const Content& content) const { return contains(from, content); }
  };

  [[nodiscard]] static bool contains(const std::vector<Content>& contents, const Content& content);
  [[nodiscard]] static Reader reader(Partner partner) noexcept;
  [[nodiscard]] bool is(std::uint64_t storage, Reader reader) const {
    const auto known = made_.find(storage);
    return known != made_.end() && known->second.reader == reader;
  }
  [[nodiscard]] std::vector<Content> given_to(const Event& op) const;
  [[nodiscard]] std::vector<std::uint64_t> sources_of(const Event& op) const;

  void note_read(const Slot& slot, Partner partner, bool outermost);
  /// An op with a partner reads or writes the slot: what it reads was compared.
  void settle(const Slot& slot);

  /// What memory held before the first change, if that is known, and holds since the last one.
  struct Changed {
    std::optional<Content> before;
    Content now;
    std::vector<Content> from;  ///< what the ops without a partner that wrote it were given
    std::int64_t begin = 0;     ///< of all that was changed, in bytes from the storage's start
    std::int64_t end = 0;
    std::uint32_t writes = 0;  ///< of the memory, with the first change
  };

  std::unordered_map<std::uint64_t, Made> made_;  ///< by storage
  std::unordered_map<std::uint64_t, Changed> changed_;
  std::vector<std::vector<std::uint64_t>> returned_;  ///< storages of an op's results
  struct Reads {
    std::uint64_t alone = 0;
    bool partnered = false;
  };
  std::unordered_map<std::uint64_t, Reads> reads_;  ///< by storage
  bool any_ = false;
  bool overflowed_ = false;
};

}  // namespace ulpscope::comparison
