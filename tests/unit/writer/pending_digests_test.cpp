#include "writer/stages/pending_digests.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "ring/message.hpp"
#include "ulpscope/run.hpp"
#include "writer/stages/messages.hpp"

using namespace ulpscope;
using writer::PendingDigests;

namespace {

using Messages = std::vector<std::byte>;

template <class Row>
void put(Messages& to, const Row& row) {
  to.resize(to.size() + sizeof row);
  std::memcpy(to.data() + to.size() - sizeof row, &row, sizeof row);
}

ring::SlotRow slot(std::uint64_t ticket, std::uint8_t pending = ring::pending_flag::ticket) {
  ring::SlotRow row{};
  row.digest[0] = ticket;
  row.pending = pending;
  row.value = 7;
  return row;
}

ring::SlotRow expecting(std::uint64_t ticket, Digest digest, std::uint8_t more = 0) {
  ring::SlotRow row =
      slot(ticket, ring::pending_flag::ticket | ring::pending_flag::expects_digest | more);
  row.logical[0] = digest.high;
  row.logical[1] = digest.low;
  return row;
}

ring::SlotRow expecting_ticket(std::uint64_t ticket, std::uint64_t before) {
  ring::SlotRow row = slot(ticket, ring::pending_flag::ticket | ring::pending_flag::expects_ticket |
                                       ring::pending_flag::marks_change);
  row.logical[0] = before;
  return row;
}

Messages event(std::uint64_t position, const std::vector<ring::SlotRow>& slots) {
  ring::EventRow row{};
  row.header = {static_cast<std::uint32_t>(sizeof row + slots.size() * sizeof(ring::SlotRow) + 8),
                ring::MessageKind::event, 0};
  row.position = position;
  row.slots = static_cast<std::uint16_t>(slots.size());
  row.argument_bytes = 8;
  for (const ring::SlotRow& one : slots)
    if (one.pending != 0) row.pending = 1;
  Messages bytes;
  put(bytes, row);
  for (const ring::SlotRow& one : slots) put(bytes, one);
  put(bytes, std::uint64_t{0xa5});
  return bytes;
}

Messages resolved(std::uint64_t ticket, Digest digest, Digest logical = {}, bool failed = false) {
  ring::ResolvedMessage row{};
  row.header = {sizeof row, ring::MessageKind::resolved, 0};
  row.ticket = ticket;
  row.digest[0] = digest.high;
  row.digest[1] = digest.low;
  row.logical[0] = logical.high;
  row.logical[1] = logical.low;
  row.failed = failed ? 1 : 0;
  Messages bytes;
  put(bytes, row);
  return bytes;
}

struct Told {
  std::uint32_t lane = 0;
  std::uint64_t position = 0;
  std::vector<ring::SlotRow> slots;
  std::uint64_t argument = 0;
};

/// What came out, event by event.
class Listener {
 public:
  void take(PendingDigests& pending, std::uint32_t lane, const Messages& messages) {
    writer::for_each_message(messages, [&](auto message) {
      if (pending.passes(lane, message)) read(lane, message);
    });
    pending.release(as_it_is, [&](std::uint32_t from, auto ready) { read(from, ready); });
  }
  void finish(PendingDigests& pending) {
    pending.finish(as_it_is, [&](std::uint32_t from, auto ready) { read(from, ready); });
  }
  std::vector<Told> told;

 private:
  static std::span<const std::byte> as_it_is(std::uint32_t, std::span<const std::byte> message) {
    return message;
  }
  void read(std::uint32_t lane, std::span<const std::byte> messages) {
    std::size_t whole = 0;
    writer::for_each_message(messages, [&](auto message) {
      whole += message.size();
      REQUIRE(writer::kind_of(message) == ring::MessageKind::event);
      const auto row = *writer::read_row<ring::EventRow>(message);
      CHECK(row.pending == 0);
      Told& one = told.emplace_back(Told{lane, row.position, {}, 0});
      one.slots.resize(row.slots);
      const std::size_t slot_bytes = row.slots * sizeof(ring::SlotRow);
      REQUIRE(message.size() == sizeof row + slot_bytes + 8);
      if (slot_bytes > 0) std::memcpy(one.slots.data(), message.data() + sizeof row, slot_bytes);
      std::memcpy(&one.argument, message.data() + sizeof row + slot_bytes, 8);
    });
    CHECK(whole == messages.size());
  }
};

constexpr Digest kOne{1, 11};
constexpr Digest kTwo{2, 22};

}  // namespace

TEST_SUITE("pending digests") {
  TEST_CASE("what waits for nothing goes on at once, as it is") {
    PendingDigests pending;
    Listener listener;
    listener.take(pending, 0, event(1, {slot(5, 0)}));
    REQUIRE(listener.told.size() == 1);
    CHECK(listener.told[0].slots[0].digest[0] == 5);
    CHECK_FALSE(pending.holds_back());
  }

  TEST_CASE("an event waits for its digest, and what comes after it waits behind it") {
    PendingDigests pending;
    Listener listener;
    listener.take(pending, 0, event(1, {slot(5)}));
    listener.take(pending, 1, event(2, {}));
    CHECK(listener.told.empty());
    CHECK(pending.holds_back());
    listener.take(pending, 9, resolved(5, kOne, kTwo));
    REQUIRE(listener.told.size() == 2);
    CHECK(listener.told[0].lane == 0);
    CHECK(listener.told[1].lane == 1);
    const ring::SlotRow& row = listener.told[0].slots[0];
    CHECK(Digest{row.digest[0], row.digest[1]} == kOne);
    CHECK(Digest{row.logical[0], row.logical[1]} == kTwo);
    CHECK((row.flags & slot_flag::logical) != 0);
    CHECK(row.pending == 0);
    CHECK(row.value == 7);
    CHECK(listener.told[0].argument == 0xa5);
    CHECK_FALSE(pending.holds_back());
  }

  TEST_CASE("messages of one piece go on as far as they can") {
    PendingDigests pending;
    Listener listener;
    Messages messages = event(1, {slot(1)});
    for (const Messages& more : {event(2, {}), event(3, {slot(2)}), event(4, {slot(1)})})
      messages.insert(messages.end(), more.begin(), more.end());
    listener.take(pending, 0, messages);
    CHECK(listener.told.empty());
    listener.take(pending, 1, resolved(1, kOne));
    CHECK(listener.told.size() == 2);
    listener.take(pending, 1, resolved(2, kTwo));
    REQUIRE(listener.told.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) CHECK(listener.told[i].position == i + 1);
  }

  TEST_CASE("digests may come before what refers to them, and serve again") {
    PendingDigests pending;
    Listener listener;
    listener.take(pending, 1, resolved(1, kOne));
    listener.take(pending, 0, event(1, {slot(1), slot(1)}));
    listener.take(pending, 0, event(2, {slot(1)}));
    REQUIRE(listener.told.size() == 2);
    CHECK(listener.told[1].slots[0].digest[1] == kOne.low);
  }

  TEST_CASE("the same content as expected is the same value, another one is changed") {
    PendingDigests pending;
    Listener listener;
    const std::uint8_t marks = ring::pending_flag::marks_change;
    listener.take(pending, 1, resolved(1, kOne));
    listener.take(pending, 1, resolved(2, kTwo));
    listener.take(pending, 0, event(1, {expecting(1, kOne, marks)}));
    listener.take(pending, 0, event(2, {expecting(2, kOne, marks)}));
    listener.take(pending, 0, event(3, {slot(2)}));
    REQUIRE(listener.told.size() == 3);
    CHECK((listener.told[0].slots[0].flags & slot_flag::changed) == 0);
    CHECK(listener.told[0].slots[0].value == 7);
    CHECK((listener.told[1].slots[0].flags & slot_flag::changed) != 0);
    CHECK(listener.told[1].slots[0].value != 7);
    CHECK((listener.told[1].slots[0].flags & slot_flag::logical) == 0);
    CHECK(listener.told[2].slots[0].value == listener.told[1].slots[0].value);
    CHECK((listener.told[2].slots[0].flags & slot_flag::changed) == 0);
  }

  TEST_CASE("what is expected may itself be pending") {
    PendingDigests pending;
    Listener listener;
    listener.take(pending, 1, resolved(2, kTwo));
    listener.take(pending, 0, event(1, {expecting_ticket(2, 1)}));
    CHECK(listener.told.empty());
    listener.take(pending, 1, resolved(1, kOne));
    REQUIRE(listener.told.size() == 1);
    CHECK((listener.told[0].slots[0].flags & slot_flag::changed) != 0);
  }

  TEST_CASE("a slot that is only told where it has changed is left out") {
    PendingDigests pending;
    Listener listener;
    const std::uint8_t only = ring::pending_flag::only_if_changed;
    listener.take(pending, 1, resolved(1, kOne));
    listener.take(pending, 0, event(1, {expecting(1, kOne, only), slot(3, 0)}));
    listener.take(pending, 0, event(2, {expecting(1, kTwo, only), slot(3, 0)}));
    REQUIRE(listener.told.size() == 2);
    REQUIRE(listener.told[0].slots.size() == 1);
    CHECK(listener.told[0].slots[0].digest[0] == 3);
    CHECK(listener.told[1].slots.size() == 2);
  }

  TEST_CASE("a digest that could not be computed makes its slot unreadable") {
    PendingDigests pending;
    Listener listener;
    listener.take(pending, 0, event(1, {slot(1)}));
    listener.take(pending, 1, resolved(1, {}, {}, true));
    REQUIRE(listener.told.size() == 1);
    CHECK((listener.told[0].slots[0].flags & slot_flag::opaque) != 0);
    CHECK((listener.told[0].slots[0].flags & slot_flag::no_digest) != 0);
    CHECK(pending.given_up() == 1);
  }

  TEST_CASE("at the end everything goes on, without what did not come") {
    PendingDigests pending;
    Listener listener;
    listener.take(pending, 0, event(1, {slot(1)}));
    listener.take(pending, 0, event(2, {}));
    listener.finish(pending);
    REQUIRE(listener.told.size() == 2);
    CHECK((listener.told[0].slots[0].flags & slot_flag::no_digest) != 0);
    CHECK_FALSE(pending.holds_back());
  }

  TEST_CASE("a program that never tells holds no more than so much back") {
    PendingDigests pending(10'000);
    Listener listener;
    for (std::uint64_t i = 0; i < 1000; ++i) listener.take(pending, 0, event(i, {slot(i + 1)}));
    CHECK(listener.told.size() > 900);
    CHECK(pending.given_up() == listener.told.size());
    for (std::size_t i = 0; i < listener.told.size(); ++i) CHECK(listener.told[i].position == i);
  }
}
