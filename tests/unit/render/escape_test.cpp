#include "cli/term/escape.hpp"

#include <doctest/doctest.h>

#include <string>

using ulpscope::cli::escaped;
using ulpscope::cli::shell_quoted;

TEST_SUITE("escape") {
  TEST_CASE("names that a terminal shows pass unchanged") {
    CHECK(escaped("layer2.0.conv1") == "layer2.0.conv1");
    CHECK(escaped("Größe 层") == "Größe 层");
    CHECK(escaped("") == "");
  }

  TEST_CASE("bytes that steer a terminal become hexadecimal") {
    struct Case {
      const char* name;
      std::string text;
      std::string expected;
    };
    for (const Case& c : {
             Case{"escape sequence", "a\x1b[31mb", "a\\x1b[31mb"},
             Case{"line feed", "a\nb", "a\\x0ab"},
             Case{"NUL", std::string("a\0b", 3), "a\\x00b"},
             Case{"delete", "\x7f", "\\x7f"},
             Case{"C1 control", "\xc2\x9b", "\\xc2\\x9b"},
             Case{"right-to-left override", "\xe2\x80\xae", "\\xe2\\x80\\xae"},
             Case{"zero-width space", "\xe2\x80\x8b", "\\xe2\\x80\\x8b"},
         }) {
      CAPTURE(c.name);
      CHECK(escaped(c.text) == c.expected);
    }
  }

  TEST_CASE("bytes that are not UTF-8 become hexadecimal") {
    struct Case {
      const char* name;
      std::string text;
      std::string expected;
    };
    for (const Case& c : {
             Case{"lone continuation", "\x80", "\\x80"},
             Case{"cut off", "a\xe2\x82", "a\\xe2\\x82"},
             Case{"overlong", "\xc0\xaf", "\\xc0\\xaf"},
             Case{"surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80"},
             Case{"above Unicode", "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
             Case{"no such byte", "\xff", "\\xff"},
         }) {
      CAPTURE(c.name);
      CHECK(escaped(c.text) == c.expected);
    }
  }

  TEST_CASE("words are quoted for a shell only where they need it") {
    CHECK(shell_quoted("--lr=0.1") == "--lr=0.1");
    CHECK(shell_quoted("a b") == "'a b'");
    CHECK(shell_quoted("it's") == "'it'\\''s'");
    CHECK(shell_quoted("") == "''");
  }
}
