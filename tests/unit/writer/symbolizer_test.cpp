#include "writer/symbols/symbolizer.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/dump_builder.hpp"
#include "writer/symbols/source_directories.hpp"

// Built with debug information, whatever the rest is built with. The lines count.

using ulpscope::test::TempDir;
using ulpscope::writer::SourceDirectories;
using ulpscope::writer::Symbolizer;

namespace places {

struct Address {
  std::string object;
  std::uint64_t offset;
};

__attribute__((noinline)) Address here() {
  const void* address = __builtin_return_address(0);
  Dl_info info{};
  dladdr(address, &info);
  return {
      std::filesystem::canonical("/proc/self/exe").string(),
      reinterpret_cast<std::uint64_t>(address) - reinterpret_cast<std::uint64_t>(info.dli_fbase)};
}

__attribute__((always_inline)) inline Address inlined(int& count) {
  Address address = here();
  ++count;
  return address;
}

__attribute__((noinline)) Address outer(int& count) {
  Address address = inlined(count);
  ++count;
  return address;
}

/// Its code belongs to a class that is local to the function.
__attribute__((noinline)) Address from_lambda(int& count) {
  const auto local = [&count]() __attribute__((noinline)) {
    Address address = here();
    ++count;
    return address;
  };
  Address address = local();
  ++count;
  return address;
}

}  // namespace places

namespace {

std::string hexadecimal(std::uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "+0x%llx", static_cast<unsigned long long>(number));
  return text;
}

/// One that says nothing of directories, wherever the test runs.
Symbolizer away_from_sources() {
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path("/");
  Symbolizer names;
  std::filesystem::current_path(here);
  return names;
}

/// This program without what `strip` takes away with `options`.
std::string stripped(const TempDir& directory, const std::string& options) {
  const std::string path = (directory.path() / "stripped").string();
  const std::string of_this = std::filesystem::canonical("/proc/self/exe").string();
  REQUIRE(std::system(("strip " + options + " -o " + path + " " + of_this).c_str()) == 0);
  return path;
}

}  // namespace

TEST_SUITE("symbolizer") {
  TEST_CASE("debug information gives file, line and function of every inlined call") {
    int count = 0;
    const places::Address address = places::outer(count);
    Symbolizer names = away_from_sources();
    CHECK(names(address.object, address.offset) ==
          "symbolizer_test.cpp:40 places::inlined(int&)\n"
          "symbolizer_test.cpp:46 places::outer(int&)");
  }

  TEST_CASE("so it does of a lambda") {
    int count = 0;
    const places::Address address = places::from_lambda(count);
    Symbolizer names = away_from_sources();
    CHECK(names(address.object, address.offset).starts_with("symbolizer_test.cpp:54 "));
  }

  TEST_CASE("a symbol table alone gives the function") {
    int count = 0;
    const places::Address address = places::outer(count);
    const TempDir directory;
    Symbolizer names;
    CHECK(names(stripped(directory, "--strip-debug"), address.offset) ==
          "stripped" + hexadecimal(address.offset) + " places::outer(int&)");
  }

  TEST_CASE("where nothing is known the address stands for itself") {
    Symbolizer names;
    CHECK(names("/nowhere/libgone.so", 0x1234) == "libgone.so+0x1234");
    CHECK(names("/etc/passwd", 0x10) == "passwd+0x10");
    CHECK(names("", 0) == "+0x0");
  }

  TEST_CASE("an address outside of every function stands for itself") {
    int count = 0;
    const places::Address address = places::outer(count);
    Symbolizer names;
    const std::string text = names(address.object, ~std::uint64_t{0} / 2);
    CHECK(text.ends_with("+0x7fffffffffffffff"));
  }

  TEST_CASE("asked again it says the same") {
    int count = 0;
    const places::Address address = places::outer(count);
    Symbolizer names;
    const std::string first = names(address.object, address.offset);
    CHECK(names(address.object, address.offset) == first);
  }

  TEST_CASE("a call of Python code has the text of its line, if the file can be read") {
    const TempDir dir;
    const std::string file = (dir.path() / "train.py").string();
    std::ofstream(file) << "import torch\n\n    x = f(\tx)  \n";
    Symbolizer names;
    CHECK(names("python:" + file + "\nNet.forward", 3) == "train.py:3 Net.forward\tx = f( x)");
    CHECK(names("python:" + file + "\n<module>", 2) == "train.py:2 <module>");
    CHECK(names("python:" + file + "\n<module>", 9) == "train.py:9 <module>");
    CHECK(names("python:/dev/zero\nf", 1) == "zero:1 f");
    CHECK(names("python:" + dir.path().string() + "\nf", 1).ends_with(":1 f"));
    CHECK(names("python:", 0) == ":0 ");
  }

  TEST_CASE("a file's directory is named from where recording was started") {
    const SourceDirectories directories("/home/net");
    struct Case {
      const char* path;
      const char* placed;
    };
    for (const Case& one : std::vector<Case>{{"/home/net/src/models/a.py", "a:1\t\tsrc/models"},
                                             {"/home/net/src/../b/./a.py", "a:1\t\tb"},
                                             {"/home/net/a.py", "a:1\t\t."},
                                             {"src/a.py", "a:1\t\tsrc"},
                                             {"a.py", "a:1\t\t."},
                                             {"../a.py", "a:1"},
                                             {"/home/nets/a.py", "a:1"},
                                             {"/usr/lib/a.py", "a:1"},
                                             {"/home/net/sr\tc/a.py", "a:1"},
                                             {"/home/net/sr\nc/a.py", "a:1"},
                                             {"", "a:1"}}) {
      CAPTURE(one.path);
      CHECK(directories.placed("a:1", one.path) == one.placed);
    }
    CHECK(directories.placed("a:1\tx = y", "src/a.py") == "a:1\tx = y\tsrc");
  }

  TEST_CASE("a writer that has left the directory names none") {
    CHECK(SourceDirectories("/").placed("a:1", "/home/net/a.py") == "a:1");
    CHECK(SourceDirectories("").placed("a:1", "a.py") == "a:1");
  }
}
