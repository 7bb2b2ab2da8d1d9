#include "cli/term/table.hpp"

#include <doctest/doctest.h>

using namespace ulpscope::cli;

TEST_SUITE("table") {
  TEST_CASE("columns are as wide as their widest cell") {
    Table table;
    table.row({{"a"}, {"1", Ink::plain, true}, {"x"}});
    table.row({{"bbb"}, {"100", Ink::plain, true}, {"y"}});
    CHECK(table.width() == 11);
    const auto lines = table.lines(Terminal{});
    CHECK(lines[0] == "a      1  x");
    CHECK(lines[1] == "bbb  100  y");
  }

  TEST_CASE("empty cells keep their place, and no line ends in blanks") {
    Table table;
    table.row({{"a"}, {""}, {"z"}});
    table.row({{"b"}, {"mm"}, {""}});
    const auto lines = table.lines(Terminal{});
    CHECK(lines[0] == "a      z");
    CHECK(lines[1] == "b  mm");
  }

  TEST_CASE("a column that is fitted shrinks to the width, but not below its least") {
    const Terminal terminal;
    Table table;
    table.row({{"aaaaaaaaaa"}, {"right"}});
    table.fit(0, 12, 3, terminal);
    CHECK(table.width() == 12);
    table.fit(0, 1, 4, terminal);
    CHECK(table.width() == 11);
  }

  TEST_CASE("colour does not move columns") {
    Table table;
    table.row({{"a", Ink::red}, {"b", Ink::green}});
    table.row({{"ccc"}, {"d"}});
    CHECK(table.lines({.width = 100, .color = true, .ascii = false})[0] ==
          "\x1b[1;31ma\x1b[0m    \x1b[1;32mb\x1b[0m");
  }
}
