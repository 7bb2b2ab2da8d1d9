#include "cli/inputs/module_map.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "tests/support/dump_builder.hpp"
#include "ulpscope/error.hpp"

using namespace ulpscope;
using namespace ulpscope::cli;

namespace {

std::vector<ModuleRename> map_of(const std::string& text) {
  const test::TempDir directory;
  const auto file = directory.path() / "map";
  std::ofstream(file) << text;
  return read_module_map(file.string());
}

std::string complaint(const std::string& text) {
  try {
    (void)map_of(text);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::usage);
    CHECK(!error.hint().empty());
    const std::string what = error.what();
    return what.substr(what.rfind("/map:") + 1);
  }
  return {};
}

}  // namespace

TEST_SUITE("module map") {
  TEST_CASE("lines name a module in both runs") {
    const auto renames = map_of("# renamed\n\n encoder.*.attn->blocks.*.attention # all\r\na -> b");
    REQUIRE(renames.size() == 2);
    CHECK(renames[0].reference == "encoder.*.attn");
    CHECK(renames[0].candidate == "blocks.*.attention");
    CHECK(renames[1].reference == "a");
    CHECK(renames[1].candidate == "b");
    CHECK(map_of("").empty());
  }

  TEST_CASE("what is wrong is told with its line") {
    CHECK(complaint("a -> b\nencoder blocks\n") == "map:2: 'encoder blocks' has no '->'");
    CHECK(complaint("# why\n -> blocks") == "map:2: a name is missing beside '->'");
    CHECK(complaint("a ->") == "map:1: a name is missing beside '->'");
    CHECK(complaint("a b -> c") == "map:1: 'a b' is not one name");
    CHECK(complaint("a -> b -> c") == "map:1: 'b -> c' is not one name");
    CHECK(complaint("a.* -> b") == "map:1: both names must have as many '*'");
  }
}
