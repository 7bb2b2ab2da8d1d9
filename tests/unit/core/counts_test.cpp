#include "core/counts.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>

using namespace ulpscope::core;

TEST_SUITE("numbers") {
  TEST_CASE("thousands are set apart") {
    CHECK(grouped(0) == "0");
    CHECK(grouped(999) == "999");
    CHECK(grouped(1000) == "1,000");
    CHECK(grouped(41235) == "41,235");
    CHECK(grouped(std::numeric_limits<std::uint64_t>::max()) == "18,446,744,073,709,551,615");
  }

  TEST_CASE("thousands are put together again, and other texts are left") {
    for (const std::uint64_t number :
         {0ULL, 999ULL, 1000ULL, 41'235ULL, 18'446'744'073'709'551'615ULL})
      CHECK(ungrouped(grouped(number)) == std::to_string(number));
    for (const char* text : {"", "41235", "1,23", "1,,234", ",123", "1,234,", "1234,567", "1,x34"})
      CHECK(ungrouped(text) == text);
  }

  TEST_CASE("one is singular") {
    CHECK(counted(1, "step") == "1 step");
    CHECK(counted(0, "step") == "0 steps");
    CHECK(counted(2000, "step") == "2,000 steps");
    CHECK(counted(2, "entry", "entries") == "2 entries");
  }

  TEST_CASE("sizes keep two digits and never print 1000 of a unit") {
    CHECK(byte_size(999) == "999 B");
    CHECK(byte_size(1000) == "1.0 kB");
    CHECK(byte_size(9'940) == "9.9 kB");
    CHECK(byte_size(9'960) == "10 kB");
    CHECK(byte_size(999'499) == "999 kB");
    CHECK(byte_size(999'600) == "1.0 MB");
    CHECK(byte_size(1'234'567'890) == "1.2 GB");
  }

  TEST_CASE("percentages never round some to none nor most to all") {
    CHECK(percentage(0, 10) == "0%");
    CHECK(percentage(1, 1'000'000) == "< 0.1%");
    CHECK(percentage(2326, 73728) == "3.2%");
    CHECK(percentage(999'999, 1'000'000) == "99.9%");
    CHECK(percentage(10, 10) == "100%");
  }

  TEST_CASE("measures take three digits") {
    CHECK(short_number(1.3737e-08) == "1.37e-08");
    CHECK(short_number(0.5) == "0.5");
    CHECK(short_number(std::numeric_limits<double>::infinity()) == "inf");
  }
}
