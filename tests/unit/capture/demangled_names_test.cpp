#include "capture/demangled_names.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using ulpscope::capture::keep_demangled;
using ulpscope::capture::known_demangled;

namespace {

TEST_SUITE("demangled names") {
  TEST_CASE("a name is known once it has been kept") {
    CHECK(known_demangled("N5model4NormE") == nullptr);
    keep_demangled("N5model4NormE", "model::Norm");
    CHECK(std::string_view(known_demangled("N5model4NormE")) == "model::Norm");
  }

  TEST_CASE("short names, and none") {
    for (const char* const name : {"", "i", "St9exception"}) {
      keep_demangled(name, "meaning");
      CHECK(std::string_view(known_demangled(name)) == "meaning");
    }
  }

  TEST_CASE("each has its own, or is not known, however many there are") {
    const auto mangled = [](int i) { return "N5model4Part" + std::to_string(i) + "E"; };
    constexpr int kNames = 5000;
    for (int i = 0; i < kNames; ++i) keep_demangled(mangled(i), std::to_string(i));
    int known = 0;
    for (int i = 0; i < kNames; ++i) {
      const char* const name = known_demangled(mangled(i));
      if (name == nullptr) continue;
      ++known;
      REQUIRE(name == std::to_string(i));
    }
    CHECK(known > 100);
  }
}

}  // namespace
