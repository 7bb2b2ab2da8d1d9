#include "cli/check/program.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "ulpscope/error.hpp"

using namespace ulpscope;
using namespace ulpscope::cli;

namespace {

ProgramResult shell(const std::string& command, ProgramCall call = {}) {
  call.command = {"sh", "-c", command};
  return run_program(call, {});
}

}  // namespace

TEST_SUITE("program") {
  TEST_CASE("output, errors and exit code are the program's") {
    const ProgramResult result = shell("echo out; echo err >&2; exit 3");
    CHECK(result.output == "out\n");
    CHECK(result.errors == "err\n");
    CHECK(result.exit_code == 3);
  }

  TEST_CASE("a signal that ends it is an exit code, as shells have it") {
    CHECK(shell("kill -SEGV $$").exit_code == 139);
  }

  TEST_CASE("of long output the end is kept") {
    const ProgramResult result = shell("yes ulpscope | head -n 100000; echo end");
    CHECK(result.output.size() == 64 << 10);
    CHECK(result.output.ends_with("ulpscope\nend\n"));
  }

  TEST_CASE("variables are set and removed") {
    setenv("ULPSCOPE_TEST_GONE", "here", 1);
    ProgramCall call;
    call.variables = {{"ULPSCOPE_TEST_GONE", std::nullopt}, {"ULPSCOPE_TEST_SET", "a b"}};
    CHECK(shell("echo ${ULPSCOPE_TEST_GONE-gone} $ULPSCOPE_TEST_SET", call).output == "gone a b\n");
  }

  TEST_CASE("input ends at once, or is a file") {
    CHECK(shell("cat; echo end").output == "end\n");
    const auto file = std::filesystem::temp_directory_path() / "ulpscope_program_test_input";
    std::ofstream(file) << "from a file\n";
    ProgramCall call;
    call.input = file.string();
    CHECK(shell("cat", call).output == "from a file\n");
    std::filesystem::remove(file);
  }

  TEST_CASE("a program that leaves a process behind does not hold us") {
    CHECK(shell("sleep 60 & echo done").output == "done\n");
  }

  TEST_CASE("what cannot be run is an error") {
    CHECK_THROWS_AS(static_cast<void>(run_program({{"/nothing/here"}, {}, {}}, {})), Error);
  }

  TEST_CASE("the last five lines that are not empty") {
    CHECK(final_lines("1\n2\n\n3\n4\n5\n  \n6") == "2\n3\n4\n5\n6\n");
    CHECK(final_lines("").empty());
  }
}
