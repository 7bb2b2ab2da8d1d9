#include "writer/symbols/inlined_calls.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/dump_builder.hpp"

// Built optimized and with debug information, whatever the rest is built with.

using ulpscope::ring::InlinedCalls;
using ulpscope::ring::SelfPlace;
using ulpscope::test::TempDir;
using ulpscope::writer::InlinedCallReader;

namespace places {

/// An address inside the call instruction that came here.
__attribute__((noinline)) std::uint64_t caller() {
  const void* address = __builtin_return_address(0);
  Dl_info info{};
  dladdr(address, &info);
  return reinterpret_cast<std::uint64_t>(address) -
         reinterpret_cast<std::uint64_t>(info.dli_fbase) - 1;
}

struct Separate {
  __attribute__((noinline)) std::uint64_t forward() {
    const std::uint64_t address = caller();
    ++count;
    return address;
  }
  __attribute__((noinline)) static std::uint64_t none(int& count) {
    const std::uint64_t address = caller();
    ++count;
    return address;
  }
  __attribute__((noinline)) std::uint64_t through_lambda() {
    const auto lambda = [this]() __attribute__((noinline)) {
      const std::uint64_t address = caller();
      ++count;
      return address;
    };
    return lambda();
  }
  int count = 0;
};

struct Shown {
  __attribute__((always_inline)) std::uint64_t forward() {
    const std::uint64_t address = caller();
    ++count;
    return address;
  }
  int count = 0;
};

template <int kWidth>
struct Wide {
  __attribute__((always_inline)) std::uint64_t forward() {
    const std::uint64_t address = inner.forward();
    count += kWidth;
    return address;
  }
  int count = 0;
  Shown inner;
};

namespace {

struct Hidden {
  __attribute__((always_inline)) std::uint64_t forward() {
    const std::uint64_t address = caller();
    ++count;
    return address;
  }
  int count = 0;
};

}  // namespace

__attribute__((noinline)) std::uint64_t in_shown(Shown& shown) { return shown.forward(); }
__attribute__((always_inline)) inline std::uint64_t only_inlined(Shown& shown) {
  const auto lambda = [&shown]() __attribute__((noinline)) { return shown.forward(); };
  return lambda();
}
__attribute__((noinline)) std::uint64_t in_lambda(Shown& shown) { return only_inlined(shown); }
__attribute__((noinline)) std::uint64_t in_hidden(Hidden& hidden) { return hidden.forward(); }
__attribute__((noinline)) std::uint64_t in_wide(Wide<32>& wide) { return wide.forward(); }
__attribute__((noinline)) std::uint64_t in_local() {
  struct Local {
    __attribute__((always_inline)) std::uint64_t forward() {
      const std::uint64_t address = caller();
      asm volatile("" : "+m"(count));
      return address;
    }
    int count = 0;
  };
  Local local;
  return local.forward();
}
__attribute__((noinline)) std::uint64_t in_nothing(int& count) {
  const std::uint64_t address = caller();
  ++count;
  return address;
}

}  // namespace places

namespace {

std::string this_program() { return std::filesystem::canonical("/proc/self/exe").string(); }

InlinedCalls inlined_at(std::uint64_t address, const std::string& object = this_program()) {
  InlinedCallReader reader;
  InlinedCalls answer;
  reader.read(object, address, answer);
  return answer;
}

}  // namespace

TEST_SUITE("inlined calls") {
  TEST_CASE("an inlined member is named as the compiler mangles it") {
    places::Shown shown;
    const InlinedCalls calls = inlined_at(places::in_shown(shown));
    REQUIRE(calls.size() == 1);
    CHECK(calls.name(0).starts_with("_ZN6places5Shown7forwardE"));
  }

  TEST_CASE("so is one of an unnamed namespace, which the compiler does not name") {
    places::Hidden hidden;
    const InlinedCalls calls = inlined_at(places::in_hidden(hidden));
    REQUIRE(calls.size() == 1);
    CHECK(calls.name(0).starts_with("_ZN6places12_GLOBAL__N_16Hidden7forwardE"));
  }

  TEST_CASE("so is one of a class inside a function") {
    const InlinedCalls calls = inlined_at(places::in_local());
    REQUIRE(calls.size() == 1);
    CHECK(calls.name(0).starts_with("_ZZN6places8in_localEvEN5Local7forwardE"));
  }

  TEST_CASE("calls in one another come outermost first, with numbers of their own") {
    places::Wide<32> wide;
    const InlinedCalls calls = inlined_at(places::in_wide(wide));
    REQUIRE(calls.size() == 2);
    CHECK(calls.name(0).starts_with("_ZN6places4WideILi32EE7forwardE"));
    CHECK(calls.name(1).starts_with("_ZN6places5Shown7forwardE"));
    CHECK(calls.calls[0].id != calls.calls[1].id);
  }

  TEST_CASE("a pointer that is used after the call stands in a place that the call preserves") {
    places::Shown shown;
    const InlinedCalls calls = inlined_at(places::in_shown(shown));
    REQUIRE(calls.size() == 1);
    CHECK(calls.calls[0].self.base != SelfPlace::kNowhere);
  }

  TEST_CASE("so does that of a function of its own, if it has one") {
    places::Separate separate;
    const InlinedCalls calls = inlined_at(separate.forward());
    CHECK(calls.size() == 0);
    CHECK(calls.is_member == 1);
    CHECK(calls.function_self.base != SelfPlace::kNowhere);
    int count = 0;
    const InlinedCalls without = inlined_at(places::Separate::none(count));
    CHECK(without.has_debug_information == 1);
    CHECK(without.function_self.base == SelfPlace::kNowhere);
  }

  TEST_CASE("a lambda inside of a member is none") {
    places::Separate separate;
    const InlinedCalls calls = inlined_at(separate.through_lambda());
    CHECK(calls.has_debug_information == 1);
    CHECK(calls.is_member == 0);
  }

  TEST_CASE("a lambda keeps its code where the function around it is only inlined") {
    places::Shown shown;
    const InlinedCalls calls = inlined_at(places::in_lambda(shown));
    REQUIRE(calls.size() == 1);
    CHECK(calls.name(0).starts_with("_ZN6places5Shown7forwardE"));
  }

  TEST_CASE("code that is nobody else's has no inlined calls") {
    int count = 0;
    const InlinedCalls calls = inlined_at(places::in_nothing(count));
    CHECK(calls.has_debug_information == 1);
    CHECK(calls.size() == 0);
  }

  TEST_CASE("without debug information that is said") {
    places::Shown shown;
    const std::uint64_t address = places::in_shown(shown);
    const TempDir directory;
    const std::string path = (directory.path() / "stripped").string();
    REQUIRE(std::system(("strip --strip-debug -o " + path + " " + this_program()).c_str()) == 0);
    const std::string pipe = (directory.path() / "pipe").string();
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    for (const std::string& object :
         {path, pipe, std::string("/nowhere"), std::string("/etc/passwd")}) {
      const InlinedCalls calls = inlined_at(address, object);
      CHECK(calls.has_debug_information == 0);
      CHECK(calls.size() == 0);
    }
  }
}
