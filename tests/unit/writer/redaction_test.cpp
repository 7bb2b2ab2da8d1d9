#include "writer/stages/redaction.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/dump_builder.hpp"
#include "tests/unit/writer/through.hpp"

using ulpscope::test::MessageWriter;
using ulpscope::test::through;
using ulpscope::writer::RedactedMessages;
using ulpscope::writer::Redaction;

namespace {

std::string text(std::span<const std::byte> messages) {
  return {reinterpret_cast<const char*>(messages.data()), messages.size()};
}

}  // namespace

TEST_SUITE("redaction") {
  TEST_CASE("settings are masked by key, by name or by value") {
    const Redaction redaction({"*TOKEN*", "note.*", "sk-*"});
    CHECK(redaction.masks("env.API_TOKEN", "x"));
    CHECK(redaction.masks("note.user", "x"));
    CHECK(redaction.masks("env.PLAIN", "sk-123"));
    CHECK_FALSE(redaction.masks("env.OMP_NUM_THREADS", "2"));
    CHECK_FALSE(Redaction().masks("env.API_TOKEN", "x"));
  }

  TEST_CASE("words of the command line keep their names") {
    const Redaction redaction({"--password", "--api-key", "sk-*"});
    const std::vector<std::string> words{"./train",    "--api-key=abc", "--password", "hunter2",
                                         "--key=sk-1", "sk-2",          "--lr",       "0.1"};
    const std::vector<std::string> masked{
        "./train",          "--api-key=<redacted>", "--password", "<redacted>",
        "--key=<redacted>", "<redacted>",           "--lr",       "0.1"};
    CHECK(redaction.command(words) == masked);
  }

  TEST_CASE("only the matching setting of a stream changes") {
    MessageWriter messages;
    messages.environment(0, "env.API_TOKEN", "secret");
    messages.environment(0, "threads.intra_op", "8");
    const auto given = messages.take();
    MessageWriter expected;
    expected.environment(0, "env.API_TOKEN", "<redacted>");
    expected.environment(0, "threads.intra_op", "8");
    const Redaction redaction({"*TOKEN"});
    RedactedMessages redacted(redaction);
    CHECK(text(through(redacted, 0, given)) == text(expected.take()));
  }

  TEST_CASE("a name defined in an earlier batch of the lane is known, that of another is not") {
    MessageWriter messages;
    messages.string("env.API_TOKEN");
    const Redaction redaction({"*TOKEN"});
    RedactedMessages redacted(redaction);
    CHECK(through(redacted, 0, messages.take()).size() > 0);
    messages.environment(0, "env.API_TOKEN", "secret");
    const auto setting = messages.take();
    CHECK(text(through(redacted, 0, setting)).find("secret") == std::string::npos);
    CHECK(text(through(redacted, 1, setting)).find("secret") != std::string::npos);
  }

  TEST_CASE("without globs the messages are passed as they are") {
    MessageWriter messages;
    messages.environment(0, "env.API_TOKEN", "secret");
    const auto given = messages.take();
    const Redaction redaction;
    RedactedMessages redacted(redaction);
    CHECK(redacted.apply(0, given).data() == given.data());
  }

  TEST_CASE("messages that are cut are passed on for the writer to refuse") {
    MessageWriter messages;
    messages.environment(0, "env.API_TOKEN", "secret");
    const auto whole = messages.take();
    const Redaction redaction({"nothing"});
    for (std::size_t size = 0; size <= whole.size(); ++size) {
      RedactedMessages redacted(redaction);
      CHECK(through(redacted, 0, std::span(whole).first(size)).size() == size);
    }
  }
}
