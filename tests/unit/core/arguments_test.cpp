#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "core/argument_writer.hpp"
#include "ulpscope/run.hpp"

namespace {

using ulpscope::Argument;
using ulpscope::ArgumentWriter;
using ulpscope::Event;
using ulpscope::kArgumentResult;

std::vector<Argument> decode(std::span<const std::byte> bytes) {
  Event event;
  event.argument_names = "self,weight,eps,dims";
  event.return_names = ",rstd";
  event.argument_bytes = bytes;
  return arguments(event);
}

/// The text of the one item that `write` writes.
template <class Write>
std::string text_of(Write&& write) {
  std::array<std::byte, 65536> buffer;
  ArgumentWriter writer(buffer);
  write(writer);
  CHECK(writer.fits());
  const auto decoded = decode(writer.bytes());
  REQUIRE(decoded.size() == 1);
  return decoded.front().text;
}

}  // namespace

TEST_SUITE("arguments") {
  TEST_CASE("every kind reads as PyTorch prints it") {
    using W = ArgumentWriter&;
    CHECK(text_of([](W w) { w.none(0); }) == "None");
    CHECK(text_of([](W w) { w.integer(0, -3); }) == "-3");
    CHECK(text_of([](W w) { w.number(0, 1e-5); }) == "1e-05");
    CHECK(text_of([](W w) { w.number(0, 1); }) == "1.0");
    CHECK(text_of([](W w) { w.number(0, HUGE_VAL); }) == "inf");
    CHECK(text_of([](W w) { w.boolean(0, true); }) == "True");
    CHECK(text_of([](W w) { w.boolean(0, false); }) == "False");
    CHECK(text_of([](W w) { w.complex(0, 1, -2.5); }) == "(1-2.5j)");
    CHECK(text_of([](W w) { w.string(0, "mean"); }) == "'mean'");
    CHECK(text_of([](W w) { w.dtype(0, ulpscope::Dtype::bfloat16); }) == "bfloat16");
    CHECK(text_of([](W w) { w.layout(0, 1); }) == "sparse_coo");
    CHECK(text_of([](W w) { w.layout(0, 200); }) == "layout200");
    CHECK(text_of([](W w) { w.memory_format(0, 2); }) == "channels_last");
    CHECK(text_of([](W w) { w.device(0, 0, -1); }) == "cpu");
    CHECK(text_of([](W w) { w.device(0, 1, 0); }) == "cuda:0");
    CHECK(text_of([](W w) { w.generator(0, 0, -1); }) == "Generator(cpu)");
    CHECK(text_of([](W w) { w.opaque(0, "Future"); }) == "<Future>");
  }

  TEST_CASE("lists read as Python prints them") {
    const std::array<std::int64_t, 2> ints{1, -2};
    const std::array<double, 2> doubles{0.5, 2};
    const std::array<std::string_view, 2> strings{"a", "b"};
    using W = ArgumentWriter&;
    CHECK(text_of([&](W w) { w.int_list(3, ints); }) == "[1, -2]");
    CHECK(text_of([&](W w) { w.int_list(3, {}); }) == "[]");
    CHECK(text_of([&](W w) { w.double_list(3, doubles); }) == "[0.5, 2.0]");
    CHECK(text_of([&](W w) { w.bool_list(3, 2, [](std::size_t i) { return i == 0; }); }) ==
          "[True, False]");
    CHECK(text_of([&](W w) { w.string_list(3, 2, [&](std::size_t i) { return strings[i]; }); }) ==
          "['a', 'b']");
  }

  TEST_CASE("a list that is too long is kept as count and digest") {
    std::vector<std::int64_t> values(ulpscope::kLongestArgumentList + 1, 7);
    const std::string expected = "[1025 elements, digest " +
                                 to_string(ulpscope::digest(std::as_bytes(std::span(values)))) +
                                 "]";
    CHECK(text_of([&](ArgumentWriter& w) { w.int_list(0, values); }) == expected);
    values.back() = 8;
    CHECK(text_of([&](ArgumentWriter& w) { w.int_list(0, values); }) != expected);
    values.pop_back();
    CHECK(text_of([&](ArgumentWriter& w) { w.int_list(0, values); }).starts_with("[7, 7, "));
  }

  TEST_CASE("names come from the schema, for arguments and for results") {
    std::array<std::byte, 100> buffer;
    ArgumentWriter writer(buffer);
    writer.number(2, 1e-6);
    writer.integer(9, 1);
    writer.integer(1 | kArgumentResult, 5);
    writer.integer(0 | kArgumentResult, 6);
    const auto decoded = decode(writer.bytes());
    REQUIRE(decoded.size() == 4);
    CHECK(decoded[0].name == "eps");
    CHECK(decoded[0].index == 2);
    CHECK_FALSE(decoded[0].result);
    CHECK(decoded[1].name == "");
    CHECK(decoded[2].name == "rstd");
    CHECK(decoded[2].index == 1);
    CHECK(decoded[2].result);
    CHECK(decoded[3].name == "");
  }

  TEST_CASE("what does not fit is left out whole, and said") {
    const std::array<std::int64_t, 3> dims{1, 2, 3};
    for (std::size_t room = 0; room <= 60; ++room) {
      CAPTURE(room);
      std::vector<std::byte> buffer(room);
      ArgumentWriter writer(buffer);
      writer.integer(0, 42);     // 11 bytes
      writer.int_list(1, dims);  // 31
      writer.string(2, "abc");   // 10
      const auto decoded = decode(writer.bytes());
      CHECK(decoded.size() == (room < 11 ? 0 : room < 42 ? 1 : room < 52 ? 2 : 3));
      CHECK(writer.fits() == (room >= 52));
      writer.none(3);
      CHECK(writer.fits() == (room >= 55));
    }
  }

  TEST_CASE("cut bytes give the items before the cut") {
    std::array<std::byte, 200> buffer;
    ArgumentWriter writer(buffer);
    writer.integer(0, 42);
    writer.string_list(1, 2, [](std::size_t) { return std::string_view("long enough"); });
    writer.boolean(2, true);
    const auto bytes = writer.bytes();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      CAPTURE(size);
      const std::vector<std::byte> cut(bytes.begin(),
                                       bytes.begin() + static_cast<std::ptrdiff_t>(size));
      CHECK(decode(cut).size() == (size < 11 ? 0 : size < bytes.size() - 4 ? 1 : 2));
    }
  }

  TEST_CASE("random bytes are survived") {
    std::mt19937 random(3);
    for (int trial = 0; trial < 20000; ++trial) {
      std::vector<std::byte> bytes(random() % 64);
      for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(random() % 4 == 0 ? random() & 255 : random() % 18);
      CHECK(decode(bytes).size() <= bytes.size() / 3);
    }
  }

  TEST_CASE("an enormous count is not believed") {
    std::array<std::byte, 7> bytes{};
    bytes[2] = static_cast<std::byte>(ulpscope::ArgumentTag::int_list);
    std::memset(&bytes[3], 0xff, 4);
    CHECK(decode(bytes).empty());
  }
}
