#include "writer/stages/content_limit.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <vector>

#include "tests/support/dump_builder.hpp"
#include "tests/unit/writer/through.hpp"
#include "ulpscope/run.hpp"
#include "writer/stages/messages.hpp"

using namespace ulpscope;
using test::MessageWriter;
using test::TempDir;
using test::through;
using writer::ContentBudget;
using writer::LimitedContents;

namespace {

/// Represents what the writer has stored.
void store(const std::filesystem::path& directory, std::size_t bytes, ContentBudget& budget) {
  std::ofstream(directory / "segment", std::ios::app) << std::string(bytes, 'x');
  budget.settle();
}

/// A content of `bytes` bytes and an event that refers to it.
std::vector<std::byte> value(MessageWriter& messages, std::uint64_t digest, std::size_t bytes) {
  messages.content({digest, digest}, std::vector<std::byte>(bytes));
  ring::EventRow row{};
  ring::SlotRow slot{};
  slot.digest[0] = slot.digest[1] = digest;
  slot.flags = slot_flag::has_content;
  messages.event(row, std::span(&slot, 1), {});
  return messages.take();
}

struct Seen {
  int contents = 0;
  int marked = 0;  ///< slots that say that their content is there
};

Seen look(std::span<const std::byte> messages) {
  Seen seen;
  writer::for_each_message(messages, [&](auto message) {
    const ring::MessageKind kind = writer::kind_of(message);
    if (kind == ring::MessageKind::content) ++seen.contents;
    if (kind != ring::MessageKind::event) return;
    ring::SlotRow slot;
    std::memcpy(&slot, message.data() + sizeof(ring::EventRow), sizeof slot);
    if ((slot.flags & slot_flag::has_content) != 0) ++seen.marked;
  });
  return seen;
}

}  // namespace

TEST_SUITE("limit of contents") {
  TEST_CASE("contents end where the directory has reached the limit, events go on") {
    TempDir directory;
    ContentBudget budget(directory.path(), 1000);
    LimitedContents contents(budget);
    MessageWriter messages;
    for (std::uint64_t i = 1; i <= 2; ++i) {
      const Seen seen = look(through(contents, 0, value(messages, i, 400)));
      CHECK(seen.contents == 1);
      CHECK(seen.marked == 1);
      store(directory.path(), 400, budget);
    }
    CHECK_FALSE(contents.left_out());
    const Seen seen = look(through(contents, 0, value(messages, 3, 400)));
    CHECK(seen.contents == 0);
    CHECK(seen.marked == 0);
    CHECK(contents.left_out());
  }

  TEST_CASE("what was stored before stays marked") {
    TempDir directory;
    ContentBudget budget(directory.path(), 500);
    LimitedContents contents(budget);
    MessageWriter messages;
    look(through(contents, 0, value(messages, 1, 400)));
    store(directory.path(), 400, budget);
    look(through(contents, 0, value(messages, 2, 400)));
    REQUIRE(contents.left_out());
    CHECK(look(through(contents, 0, value(messages, 1, 400))).marked == 1);
  }

  TEST_CASE("contents that were there already cost nothing") {
    TempDir directory;
    ContentBudget budget(directory.path(), 1000);
    LimitedContents contents(budget);
    MessageWriter messages;
    store(directory.path(), 10, budget);
    for (std::uint64_t i = 0; i < 100; ++i) {
      CHECK(look(through(contents, 0, value(messages, 7, 400))).contents == 1);
    }
  }

  TEST_CASE("contents of one batch count before they are written") {
    TempDir directory;
    ContentBudget budget(directory.path(), 1000);
    LimitedContents contents(budget);
    MessageWriter messages;
    for (std::uint64_t i = 1; i <= 10; ++i) {
      messages.content({i, i}, std::vector<std::byte>(400));
    }
    CHECK(look(through(contents, 0, messages.take())).contents == 2);
  }

  TEST_CASE("what was taken and not stored leaves its room") {
    TempDir directory;
    ContentBudget budget(directory.path(), 1000);
    LimitedContents contents(budget);
    MessageWriter messages;
    for (std::uint64_t i = 1; i <= 2; ++i) look(through(contents, 0, value(messages, i, 400)));
    budget.settle();
    CHECK(look(through(contents, 0, value(messages, 3, 400))).contents == 1);
  }

  TEST_CASE("a content in pieces is kept or left out as a whole") {
    TempDir directory;
    ContentBudget budget(directory.path(), 100);
    LimitedContents contents(budget);
    MessageWriter messages;
    messages.content({1, 1}, std::vector<std::byte>(300), 100);
    CHECK(look(through(contents, 0, messages.take())).contents == 0);
  }

  TEST_CASE("without a limit the messages are passed as they are") {
    TempDir directory;
    ContentBudget budget(directory.path(), 0);
    LimitedContents contents(budget);
    MessageWriter messages;
    const auto given = value(messages, 1, 400);
    CHECK(contents.apply(0, given).data() == given.data());
  }

  TEST_CASE("the budget is one for all ranks") {
    TempDir directory;
    ContentBudget budget(directory.path(), 500);
    LimitedContents first(budget);
    LimitedContents second(budget);
    MessageWriter messages;
    look(through(first, 0, value(messages, 1, 400)));
    store(directory.path(), 400, budget);
    CHECK(look(through(second, 0, value(messages, 2, 400))).contents == 0);
  }
}
