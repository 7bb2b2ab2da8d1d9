#include "cli/options/dump_argument.hpp"

#include <doctest/doctest.h>

#include <filesystem>

using ulpscope::cli::parse_dump_argument;

TEST_SUITE("dump argument") {
  TEST_CASE("a selector follows the last @") {
    const auto dump = parse_dump_argument("runs/a@rank=2,steps=10-19");
    CHECK(dump.directory == "runs/a");
    CHECK(dump.selector == "rank=2,steps=10-19");
  }

  TEST_CASE("a name with @ and no selector is a name") {
    CHECK(parse_dump_argument("runs/user@host").directory == "runs/user@host");
    CHECK(parse_dump_argument("runs/user@host").selector.empty());
    CHECK(parse_dump_argument("a@b@rank=1").directory == "a@b");
  }

  TEST_CASE("a directory that has the whole name is meant") {
    const auto path = std::filesystem::temp_directory_path() / "ulpscope-test@rank=1";
    std::filesystem::create_directory(path);
    const auto dump = parse_dump_argument(path.string());
    std::filesystem::remove(path);
    CHECK(dump.directory == path);
    CHECK(dump.selector.empty());
  }
}
