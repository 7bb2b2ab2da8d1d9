#include "cli/term/terminal.hpp"

#include <doctest/doctest.h>

using namespace ulpscope::cli;

TEST_SUITE("terminal") {
  TEST_CASE("width counts characters, not bytes") {
    CHECK(display_width("abc") == 3);
    CHECK(display_width("│█▏") == 3);
    CHECK(padded("│", 3) == "│  ");
    CHECK(padded("│", 3, true) == "  │");
  }

  TEST_CASE("elided text keeps both ends and the width") {
    const Terminal unicode;
    CHECK(elided("layer2.0.conv1", 14, unicode) == "layer2.0.conv1");
    CHECK(elided("layer2.0.conv1.weight", 11, unicode) == "layer…eight");
    CHECK(elided("äöüäöü", 4, unicode) == "ä…öü");
    const Terminal ascii{.width = 100, .color = false, .ascii = true};
    CHECK(elided("layer2.0.conv1.weight", 11, ascii) == "laye...ight");
    CHECK(elided("abcdef", 2, ascii) == "ab");
  }

  TEST_CASE("wrapped text stays below the width, longer words stand alone") {
    const auto lines = wrapped("aa bb cccccc d", 5);
    REQUIRE(lines.size() == 3);
    CHECK(lines[0] == "aa bb");
    CHECK(lines[1] == "cccccc");
    CHECK(lines[2] == "d");
    CHECK(wrapped("", 5).size() == 1);
  }

  TEST_CASE("without colour nothing is painted") {
    Terminal terminal;
    CHECK(terminal.paint(Ink::red, "x") == "x");
    terminal.color = true;
    CHECK(terminal.paint(Ink::red, "x") == "\x1b[1;31mx\x1b[0m");
    CHECK(terminal.paint(Ink::plain, "x") == "x");
    CHECK(terminal.paint(Ink::red, "") == "");
  }

  TEST_CASE("a range stays in one line") {
    const std::vector<std::string> lines{"propagated in steps", "0 - 16"};
    CHECK(wrapped("propagated in steps 0 - 16", 23) == lines);
    CHECK(wrapped("0 - 16", 3) == std::vector<std::string>{"0 - 16"});
    CHECK(wrapped("a -", 2) == std::vector<std::string>{"a", "-"});
  }
}
