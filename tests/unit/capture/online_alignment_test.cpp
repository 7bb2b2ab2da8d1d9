#include "capture/online_alignment.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>

using ulpscope::capture::OnlineAlignment;

namespace {

std::pmr::vector<std::uint64_t> signatures(const std::string& letters) {
  std::pmr::vector<std::uint64_t> all;
  for (const char letter : letters) all.push_back(static_cast<std::uint64_t>(letter));
  return all;
}

/// For each letter that comes the place of its partner in the reference, from 'a' on; '.' for none.
std::string aligned(const std::string& reference, const std::string& candidate) {
  OnlineAlignment alignment(signatures(reference));
  std::string places;
  for (const std::uint64_t letter : signatures(candidate)) {
    const auto place = alignment.next(letter);
    places += place ? static_cast<char>('a' + static_cast<char>(*place)) : '.';
  }
  return places;
}

std::string repeated(const std::string& part, int times) {
  std::string all;
  for (int k = 0; k < times; ++k) all += part;
  return all;
}

}  // namespace

TEST_SUITE("online alignment") {
  TEST_CASE("equal sequences are aligned one by one") {
    CHECK(aligned("LRLRX", "LRLRX") == "abcde");
  }

  TEST_CASE("what comes in addition has no partner, and what follows has its own") {
    CHECK(aligned("LRMX", "LRNMX") == "ab.cd");
  }

  TEST_CASE("an additional one that the next repetition has does not take that one's place") {
    CHECK(aligned(repeated("LRMX", 3), "LRRMX" + repeated("LRMX", 2)) == "ab.cdefghijkl");
  }

  TEST_CASE("what is missing is passed over") { CHECK(aligned("LRMXY", "LMXY") == "acde"); }

  TEST_CASE("a different one in the same place leaves both without a partner") {
    CHECK(aligned("LRMXY", "LGMXY") == "a.cde");
  }

  TEST_CASE("what has nothing in common has no partners") { CHECK(aligned("LRM", "XYZ") == "..."); }

  TEST_CASE("after the end of the reference nothing has a partner") {
    CHECK(aligned("LR", "LRLR") == "ab..");
    CHECK(aligned("", "LR") == "..");
  }

  TEST_CASE("long sequences stay aligned behind an additional part") {
    const auto reference = signatures(repeated("LRMXYZ", 400));
    OnlineAlignment alignment(reference);
    for (int k = 0; k < 3; ++k) CHECK_FALSE(alignment.next('N'));
    for (std::uint64_t place = 0; place < reference.size(); ++place) {
      const auto found = alignment.next(reference[place]);
      REQUIRE(found);
      CHECK(*found == place);
    }
  }
}
