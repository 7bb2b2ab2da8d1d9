#include "writer/stages/pipeline.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "ring/message.hpp"
#include "tests/support/dump_builder.hpp"
#include "ulpscope/run.hpp"

using namespace ulpscope;
using test::MessageWriter;
using writer::ContentBudget;
using writer::Pipeline;
using writer::Redaction;

namespace {

using Messages = std::vector<std::byte>;

/// An event without slots, or with one whose digest is `ticket`'s.
Messages event(std::uint64_t position, std::uint64_t ticket = 0) {
  MessageWriter writer;
  ring::EventRow row{};
  row.position = position;
  if (ticket == 0) {
    writer.event(row, {}, {});
    return writer.take();
  }
  row.pending = 1;
  ring::SlotRow slot{};
  slot.pending = ring::pending_flag::ticket;
  slot.digest[0] = ticket;
  writer.event(row, std::span(&slot, 1), {});
  return writer.take();
}

Messages resolved(std::uint64_t ticket) {
  ring::ResolvedMessage row{};
  row.header = {sizeof row, ring::MessageKind::resolved, 0};
  row.ticket = ticket;
  row.digest[0] = 1;
  Messages bytes(sizeof row);
  std::memcpy(bytes.data(), &row, sizeof row);
  return bytes;
}

Messages together(const std::vector<Messages>& parts) {
  Messages all;
  for (const Messages& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// A pipeline, and what came out of it.
struct Piped {
  explicit Piped(std::vector<std::string> globs = {})
      : redaction(std::move(globs)), budget({}, 0), pipeline(redaction, budget) {}

  void take(std::uint32_t lane, const Messages& messages) {
    pipeline.take(lane, messages, [&](std::uint32_t from, std::span<const std::byte> ready) {
      last = ready;
      out.emplace_back(from, Messages(ready.begin(), ready.end()));
    });
  }

  Redaction redaction;
  ContentBudget budget;
  Pipeline pipeline;
  std::span<const std::byte> last;
  std::vector<std::pair<std::uint32_t, Messages>> out;
};

std::string text(const Messages& messages) {
  return {reinterpret_cast<const char*>(messages.data()), messages.size()};
}

}  // namespace

TEST_SUITE("message pipeline") {
  TEST_CASE("messages that no stage changes are not copied") {
    Piped piped;
    const Messages given = together({event(1), event(2)});
    piped.take(0, given);
    CHECK(piped.last.data() == given.data());
    CHECK(piped.last.size() == given.size());
  }

  TEST_CASE("what comes before an event that waits goes on, what comes after it waits") {
    Piped piped;
    piped.take(3, together({event(1), event(2, 7), event(3)}));
    REQUIRE(piped.out.size() == 1);
    CHECK(piped.out[0].second == event(1));
    CHECK(piped.pipeline.holds_back());
    piped.take(4, together({resolved(7), event(9)}));
    REQUIRE(piped.out.size() == 3);
    CHECK(piped.out[1].first == 3);
    CHECK(piped.out[1].second.size() == event(2, 7).size() + event(3).size());
    CHECK(piped.out[2] == std::pair(std::uint32_t{4}, event(9)));
    CHECK_FALSE(piped.pipeline.holds_back());
  }

  TEST_CASE("a secret is masked, whether its message waited or not") {
    Piped piped({"*TOKEN*"});
    MessageWriter setting;
    setting.environment(0, "env.API_TOKEN", "secret");
    const Messages secret = setting.take();
    piped.take(0, secret);
    REQUIRE(piped.out.size() == 1);
    CHECK(text(piped.out[0].second).find("<redacted>") != std::string::npos);
    piped.take(0, together({event(1, 7), secret, resolved(7)}));
    REQUIRE(piped.out.size() == 2);
    CHECK(text(piped.out[1].second).find("<redacted>") != std::string::npos);
    CHECK(text(piped.out[1].second).find("secret") == std::string::npos);
  }

  TEST_CASE("bytes that are no message are passed on last") {
    Piped piped;
    piped.take(0, together({event(1, 7), resolved(7), Messages(4, std::byte{0xff})}));
    REQUIRE(piped.out.size() == 2);
    CHECK(piped.out[1].second == Messages(4, std::byte{0xff}));
  }

  TEST_CASE("an event that claims more slots than it has is passed on to be refused") {
    Piped piped;
    Messages lying = event(1);
    ring::EventRow row;
    std::memcpy(&row, lying.data(), sizeof row);
    row.slots = 60'000;
    row.pending = 1;
    std::memcpy(lying.data(), &row, sizeof row);
    piped.take(0, lying);
    REQUIRE(piped.out.size() == 1);
    CHECK(piped.out[0].second == lying);
  }
}
