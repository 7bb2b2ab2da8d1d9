#include "writer/stages/pending_digests.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "ulpscope/run.hpp"
#include "writer/stages/messages.hpp"

namespace ulpscope::writer {
namespace {

/// Digests beyond this are forgotten, the oldest first: more than a program refers to later.
constexpr std::size_t kRemembered = std::size_t{1} << 18;
/// Numbers of values of ours, apart from those that programs give.
constexpr std::uint64_t kOwnValues = std::uint64_t{1} << 63;

[[nodiscard]] std::optional<ring::EventRow> waiting_event(const ring::MessageHeader& header,
                                                          std::span<const std::byte> message) {
  if (header.kind != ring::MessageKind::event) return std::nullopt;
  const auto event = read_row<ring::EventRow>(message);
  const bool whole =
      event && event->slots <= (message.size() - sizeof *event) / sizeof(ring::SlotRow);
  return whole && event->pending != 0 ? event : std::nullopt;
}

[[nodiscard]] ring::SlotRow slot_at(std::span<const std::byte> message, std::size_t index) {
  ring::SlotRow slot;
  std::memcpy(&slot, message.data() + sizeof(ring::EventRow) + index * sizeof slot, sizeof slot);
  return slot;
}

}  // namespace

void PendingDigests::learn(std::span<const std::byte> message) {
  const auto row = read_row<ring::ResolvedMessage>(message);
  if (!row) return;
  Known known{.digest = {row->digest[0], row->digest[1]},
              .logical = {row->logical[0], row->logical[1]},
              .failed = row->failed != 0,
              .no_content = row->no_content != 0};
  if (!known_.try_emplace(row->ticket, known).second) return;
  tickets_.push_back(row->ticket);
  if (tickets_.size() <= kRemembered) return;
  known_.erase(tickets_.front());
  tickets_.pop_front();
}

const PendingDigests::Known* PendingDigests::find(std::uint64_t ticket) const {
  const auto at = known_.find(ticket);
  return at == known_.end() ? nullptr : &at->second;
}

bool PendingDigests::waits_for_ticket(const ring::SlotRow& slot) const {
  if ((slot.pending & ring::pending_flag::ticket) == 0) return false;
  if (find(slot.digest[0]) == nullptr) return true;
  return (slot.pending & ring::pending_flag::expects_ticket) != 0 &&
         find(slot.logical[0]) == nullptr;
}

bool PendingDigests::must_wait(std::span<const std::byte> message) const {
  const auto event = waiting_event(header_of(message), message);
  for (std::size_t i = 0; event && i < event->slots; ++i)
    if (waits_for_ticket(slot_at(message, i))) return true;
  return false;
}

bool PendingDigests::settle(ring::SlotRow& slot) {
  const std::uint8_t pending = std::exchange(slot.pending, std::uint8_t{0});
  if ((pending & ring::pending_flag::ticket) == 0) return true;
  const auto at = known_.find(slot.digest[0]);
  std::optional<Digest> expected;
  if ((pending & ring::pending_flag::expects_digest) != 0)
    expected = Digest{slot.logical[0], slot.logical[1]};
  else if ((pending & ring::pending_flag::expects_ticket) != 0)
    if (const Known* before = find(slot.logical[0]); before != nullptr && !before->failed)
      expected = before->digest;
  slot.digest[0] = slot.digest[1] = slot.logical[0] = slot.logical[1] = 0;
  if (at == known_.end() || at->second.failed) {
    slot.flags |= slot_flag::no_digest | slot_flag::opaque;
    slot.flags &= ~(slot_flag::has_content | slot_flag::verified);
    ++given_up_;
    return true;
  }
  Known& known = at->second;
  if (known.no_content) slot.flags &= ~slot_flag::has_content;
  if (expected == known.digest && (pending & ring::pending_flag::only_if_changed) != 0)
    return false;
  if (expected && expected != known.digest) {
    known.value = kOwnValues | at->first;
    if ((pending & ring::pending_flag::marks_change) != 0) slot.flags |= slot_flag::changed;
  }
  if (known.value != 0) slot.value = known.value;
  slot.digest[0] = known.digest.high;
  slot.digest[1] = known.digest.low;
  if (known.logical != Digest{}) {
    slot.logical[0] = known.logical.high;
    slot.logical[1] = known.logical.low;
    slot.flags |= slot_flag::logical;
  }
  return true;
}

std::span<const std::byte> PendingDigests::settled(std::span<const std::byte> message) {
  ring::EventRow event = *read_row<ring::EventRow>(message);
  const std::size_t slots_end = sizeof event + event.slots * sizeof(ring::SlotRow);
  const std::size_t count = event.slots;
  event_.resize(sizeof event);
  event.slots = 0;
  event.pending = 0;
  for (std::size_t i = 0; i < count; ++i) {
    ring::SlotRow slot = slot_at(message, i);
    if (!settle(slot)) continue;
    append(event_, std::as_bytes(std::span(&slot, 1)));
    ++event.slots;
  }
  append(event_, message.subspan(slots_end));
  event.header.size = static_cast<std::uint32_t>(event_.size());
  std::memcpy(event_.data(), &event, sizeof event);
  return event_;
}

void PendingDigests::release(const Stages& stages, const Consume& consume, bool all) {
  std::vector<std::byte> ready;
  while (!held_.empty()) {
    Held& first = held_.front();
    ready.clear();
    bool waits = false;
    const std::span<const std::byte> rest = std::span<const std::byte>(first.messages);
    while (first.done < rest.size() && !waits) {
      const std::span<const std::byte> from = rest.subspan(first.done);
      const ring::MessageHeader header = header_of(from);
      const std::span<const std::byte> message = from.first(header.size);
      waits = !all && held_bytes_ <= most_held_ && must_wait(message);
      if (waits) break;
      append(ready,
             stages(first.lane, waiting_event(header, message) ? settled(message) : message));
      first.done += message.size();
      held_bytes_ -= message.size();
    }
    const std::uint32_t lane = first.lane;
    const std::function<void()> round_ended = waits ? nullptr : std::move(first.round_ended);
    if (!waits) held_.pop_front();
    if (!ready.empty()) consume(lane, ready);
    if (round_ended) round_ended();
    if (waits) return;
  }
}

bool PendingDigests::passes(std::uint32_t lane, std::span<const std::byte> message) {
  const ring::MessageHeader header = header_of(message);
  if (header.kind == ring::MessageKind::resolved) {
    learn(message);
    return false;
  }
  if (held_.empty() && !waiting_event(header, message)) return true;
  if (held_.empty() || held_.back().lane != lane || held_.back().round_ended)
    held_.push_back({.lane = lane, .messages = {}, .done = 0, .round_ended = {}});
  append(held_.back().messages, message);
  held_bytes_ += message.size();
  return false;
}

void PendingDigests::take_round(const std::function<void()>& ended) {
  if (held_.empty())
    ended();
  else
    held_.back().round_ended = ended;
}

}  // namespace ulpscope::writer
