#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "writer/stages/content_limit.hpp"
#include "writer/stages/pending_digests.hpp"
#include "writer/stages/redaction.hpp"
#include "writer/stages/verified_bytes.hpp"

namespace ulpscope::writer {

/// The way of one process's messages from its rings to the dump. Each message passes every stage
/// once: it waits for digests that are still being computed, what is to be masked is masked, and
/// contents beyond the limit are left out.
class Pipeline {
 public:
  using Consume = PendingDigests::Consume;

  Pipeline(const Redaction& redaction, ContentBudget& budget)
      : redacted_(redaction), contents_(budget) {}

  /// Takes messages of a lane and passes on those that need not wait. Bytes that are no messages
  /// are passed on last, so that whoever stores them can report them.
  void take(std::uint32_t lane, std::span<const std::byte> messages, const Consume& consume);
  /// All lanes have been read: `ended` follows what came before.
  void take_round(const std::function<void()>& ended) { pending_.take_round(ended); }
  /// The process has ended: digests that have not come by now are unknown.
  void finish(const Consume& consume);

  [[nodiscard]] bool holds_back() const noexcept { return pending_.holds_back(); }
  /// Slots whose digest did not come.
  [[nodiscard]] std::uint64_t without_digest() const noexcept { return pending_.given_up(); }
  /// At least one content was left out.
  [[nodiscard]] bool left_out_contents() const noexcept { return contents_.left_out(); }
  /// Bytes of inputs that the program digested again.
  [[nodiscard]] std::uint64_t verified_bytes() const noexcept { return verified_.bytes(); }

 private:
  [[nodiscard]] std::span<const std::byte> stored(std::uint32_t lane,
                                                  std::span<const std::byte> message);

  PendingDigests pending_;
  RedactedMessages redacted_;
  LimitedContents contents_;
  VerifiedBytes verified_;
  std::vector<std::byte> changed_;  ///< the messages of one call, where they are not as they came
};

}  // namespace ulpscope::writer
