#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "cli/render/json.hpp"
#include "cli/render/text.hpp"
#include "tests/unit/render/sample_reports.hpp"

using namespace ulpscope;

namespace {

/// The text must be the file's. With ULPSCOPE_UPDATE_GOLDEN set the file becomes the text.
void check_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(ULPSCOPE_GOLDEN_DIRECTORY "/") + name;
  if (std::getenv("ULPSCOPE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
  }
  std::ifstream in(path);
  std::stringstream golden;
  golden << in.rdbuf();
  CAPTURE(path);
  CHECK(text == golden.str());
}

std::string text_of(const Report& report, const cli::Terminal& terminal) {
  std::ostringstream out;
  cli::render_text(report, terminal, out);
  return out.str();
}

}  // namespace

TEST_SUITE("golden") {
  TEST_CASE("an origin at 100 columns") {
    check_golden("origin.txt", text_of(test::origin_report(), {}));
  }

  TEST_CASE("an origin at 60 columns in ASCII") {
    check_golden("origin_narrow.txt", text_of(test::origin_report(), {60, false, true}));
  }

  TEST_CASE("an origin in colour") {
    check_golden("origin_color.txt", text_of(test::origin_report(), {100, true, false}));
  }

  TEST_CASE("an argument that differs, with findings after it") {
    check_golden("arguments.txt", text_of(test::arguments_report(), {}));
  }

  TEST_CASE("the JSON document") {
    std::ostringstream out;
    cli::render_json(test::arguments_report(), out);
    check_golden("arguments.json", out.str());
  }
}
