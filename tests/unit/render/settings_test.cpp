#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cli/render/settings_text.hpp"

using namespace ulpscope::cli;

namespace {

std::string differing(const std::vector<SettingPair>& pairs, std::size_t width) {
  Page page(Terminal{.width = width});
  render_differing_settings(pairs, page);
  return page.text();
}

std::string equal(const std::vector<SettingPair>& pairs, std::size_t width) {
  Page page(Terminal{.width = width});
  render_equal_settings(pairs, page);
  return page.text();
}

}  // namespace

TEST_SUITE("settings as text") {
  TEST_CASE("those that can change bits come first, equal ones are left out") {
    CHECK(differing({{"os.kernel", "6.1", "6.2", false},
                     {"threads.intra_op", "1", {}, true},
                     {"torch.version", "2.11", "2.11", true}},
                    80) ==
          "differ and can change bits  reference  candidate\n"
          "threads.intra_op            1          (unset)\n"
          "\n"
          "differ and cannot  reference  candidate\n"
          "os.kernel          6.1        6.2\n"
          "\n");
  }

  TEST_CASE("of long lists of words only those are printed that one run has alone") {
    const std::string words = "a b c d e f g h i j k l";
    CHECK(differing({{"cpu.flags", words + " avx", words + " avx2 avx512f", true}}, 60) ==
          "differ and can change bits\n"
          "cpu.flags\n"
          "  reference  only here: avx\n"
          "  candidate  only here: avx2 avx512f\n"
          "\n");
  }

  TEST_CASE("a list that has nothing of its own is printed whole") {
    const std::string words = "a b c d e f g h i j k l";
    CHECK(differing({{"cpu.flags", words, words + " avx512f and_one_more_that_is_long", true}}, 60)
              .find("  reference  a b c d e f g h i j k l\n") != std::string::npos);
  }

  TEST_CASE("values too long for a table stand below their name") {
    CHECK(differing({{"env.LD_LIBRARY_PATH", std::string(30, 'a'), std::string(30, 'b'), true}},
                    60) ==
          "differ and can change bits\n"
          "env.LD_LIBRARY_PATH\n"
          "  reference  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
          "  candidate  bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n"
          "\n");
  }

  TEST_CASE("equal settings are told once, wrapped under themselves") {
    CHECK(equal({{"cpu.flags", "some words that are long", "some words that are long", true},
                 {"os.libc", "2.36", "2.36", true},
                 {"threads.intra_op", "1", "2", true}},
                30) ==
          "equal\n"
          "cpu.flags  some words that are\n"
          "           long\n"
          "os.libc    2.36\n"
          "\n");
  }

  TEST_CASE("what steers a terminal is made harmless") {
    CHECK(differing({{"env.X", "\x1b[2J", "1", true}}, 80).find('\x1b') == std::string::npos);
  }
}
