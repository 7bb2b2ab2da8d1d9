#include "writer/stages/verified_bytes.hpp"

#include <doctest/doctest.h>

#include "tests/support/dump_builder.hpp"
#include "writer/stages/messages.hpp"

using ulpscope::test::MessageWriter;
using ulpscope::writer::VerifiedBytes;

namespace {

void read(VerifiedBytes& verified, std::uint32_t lane, std::span<const std::byte> messages) {
  ulpscope::writer::for_each_message(messages, [&](auto message) { verified.read(lane, message); });
}

}  // namespace

TEST_SUITE("verified bytes") {
  TEST_CASE("the setting is read where its name was defined earlier") {
    MessageWriter messages;
    VerifiedBytes verified;
    messages.environment(0, "threads.intra_op", "8");
    messages.environment(0, "capture.verified_bytes", "1000");
    read(verified, 0, messages.take());
    CHECK(verified.bytes() == 1000);
    messages.environment(0, "capture.verified_bytes", "264000000");
    read(verified, 0, messages.take());
    CHECK(verified.bytes() == 264000000);
  }

  TEST_CASE("ids are those of one lane") {
    MessageWriter messages;
    VerifiedBytes verified;
    messages.string("capture.verified_bytes");
    read(verified, 0, messages.take());
    messages.environment(0, "capture.verified_bytes", "5");
    read(verified, 1, messages.take());
    CHECK(verified.bytes() == 0);
  }

  TEST_CASE("messages that lie about their size are not followed") {
    MessageWriter messages;
    messages.environment(0, "capture.verified_bytes", "77");
    const auto whole = messages.take();
    for (std::size_t size = 0; size < whole.size(); ++size) {
      VerifiedBytes verified;
      read(verified, 0, std::span(whole).first(size));
      CHECK(verified.bytes() == 0);
    }
    auto lying = whole;
    const std::size_t length = 20;  // of the first message, the string
    lying[length - 8] = std::byte{0xff};
    lying[length - 7] = std::byte{0xff};
    VerifiedBytes verified;
    read(verified, 0, lying);
    CHECK(verified.bytes() == 0);
  }
}
