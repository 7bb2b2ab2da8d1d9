#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ring/message.hpp"
#include "ulpscope/digest.hpp"

namespace ulpscope::writer {

/// Holds back the messages of one process while an event refers to a digest that a device has not
/// computed yet. Messages are passed on in the order in which they came, with their digests.
class PendingDigests {
 public:
  using Consume = std::function<void(std::uint32_t lane, std::span<const std::byte> messages)>;
  /// What is passed on in place of a message that has its digests.
  using Stages = std::function<std::span<const std::byte>(std::uint32_t lane,
                                                          std::span<const std::byte> message)>;

  /// `most_held`: if more bytes than that are held back, digests are abandoned.
  explicit PendingDigests(std::size_t most_held = std::size_t{512} << 20) : most_held_(most_held) {}

  /// True if a message of a lane is to be passed on as it is. Otherwise it was taken: it brought a
  /// digest, or it or one before it waits for one, until `release`.
  [[nodiscard]] bool passes(std::uint32_t lane, std::span<const std::byte> message);
  /// Passes on what need not wait any more.
  void release(const Stages& stages, const Consume& consume) { release(stages, consume, false); }
  /// All lanes have been read: `ended` follows what came before.
  void take_round(const std::function<void()>& ended);
  /// No digest will come any more: hands everything on, slots without theirs as unreadable.
  void finish(const Stages& stages, const Consume& consume) { release(stages, consume, true); }

  [[nodiscard]] bool holds_back() const noexcept { return !held_.empty(); }
  /// Slots whose digest did not come.
  [[nodiscard]] std::uint64_t given_up() const noexcept { return given_up_; }

 private:
  struct Known {
    Digest digest;
    Digest logical;
    std::uint64_t value = 0;  ///< of other bytes than it was expected to have
    bool failed = false;
    bool no_content = false;
  };
  struct Held {
    std::uint32_t lane = 0;
    std::vector<std::byte> messages;
    std::size_t done = 0;
    std::function<void()> round_ended;  ///< called after the messages
  };

  void learn(std::span<const std::byte> message);
  void release(const Stages& stages, const Consume& consume, bool all);
  [[nodiscard]] const Known* find(std::uint64_t ticket) const;
  [[nodiscard]] bool must_wait(std::span<const std::byte> message) const;
  [[nodiscard]] bool waits_for_ticket(const ring::SlotRow& slot) const;
  [[nodiscard]] std::span<const std::byte> settled(std::span<const std::byte> event);
  /// False if the slot is to be left out.
  [[nodiscard]] bool settle(ring::SlotRow& slot);

  std::size_t most_held_;
  std::size_t held_bytes_ = 0;
  std::deque<Held> held_;
  std::vector<std::byte> event_;  ///< the last one that was settled
  std::unordered_map<std::uint64_t, Known> known_;
  std::deque<std::uint64_t> tickets_;  ///< of known_, oldest first
  std::uint64_t given_up_ = 0;
};

}  // namespace ulpscope::writer
