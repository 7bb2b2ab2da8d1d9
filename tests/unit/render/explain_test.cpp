#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "cli/explain/cause_pages.hpp"
#include "cli/explain/render_page.hpp"

namespace {

using namespace ulpscope::cli;

/// The public cause ids.
constexpr std::array kPublicIds{"init",
                                "rng-seed",
                                "rng-shift",
                                "rng-device",
                                "rng-size",
                                "recompute",
                                "data-order",
                                "data-content",
                                "worker",
                                "thread-rng",
                                "epoch",
                                "hash-order",
                                "atomic",
                                "duplicate-index",
                                "ties",
                                "algorithm",
                                "backend",
                                "library",
                                "threads",
                                "isa",
                                "alignment",
                                "flush-denormal",
                                "tf32",
                                "reduced-precision",
                                "dtype",
                                "argument",
                                "scale",
                                "weights",
                                "structure",
                                "harmless-rewrite",
                                "mode",
                                "buffer-update",
                                "uninitialised",
                                "race",
                                "alias",
                                "external-write",
                                "batch-size",
                                "compiled",
                                "gradient-accumulation",
                                "backward-order",
                                "collective",
                                "resume",
                                "skipped-step",
                                "nan",
                                "int-cast",
                                "int32-index",
                                "layout",
                                "hardware",
                                "observer",
                                "unknown"};

/// The ids that the diagnosis rules give, read from their sources.
std::set<std::string> ids_of_rules() {
  std::set<std::string> ids;
  const std::regex given(R"(cause\(\s*"([a-z0-9-]+)\")");
  for (const auto& file : std::filesystem::directory_iterator(ULPSCOPE_CAUSES_DIRECTORY)) {
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    const std::string source = text.str();
    for (std::sregex_iterator i(source.begin(), source.end(), given), end; i != end; ++i) {
      ids.insert((*i)[1]);
    }
  }
  return ids;
}

std::set<std::string> ids_of_pages() {
  std::set<std::string> ids;
  for (const CausePage& page : cause_pages()) ids.emplace(page.id);
  return ids;
}

std::string rendered(std::string_view text, std::size_t width) {
  Page page(Terminal{.width = width});
  render_markdown(text, page);
  return page.text();
}

TEST_CASE("every public cause has one page, and no other has") {
  CHECK(ids_of_pages() == std::set<std::string>(kPublicIds.begin(), kPublicIds.end()));
  CHECK(cause_pages().size() == kPublicIds.size());
}

TEST_CASE("every cause that a rule gives has a page") {
  const std::set<std::string> rules = ids_of_rules();
  CHECK(rules.size() > 20);
  const std::set<std::string> pages = ids_of_pages();
  for (const std::string& id : rules) CHECK_MESSAGE(pages.contains(id), id);
}

TEST_CASE("a page has a title with its id, all sections in order, and is a page long") {
  for (const CausePage& page : cause_pages()) {
    CAPTURE(page.id);
    CHECK(page.text.starts_with("# " + std::string(page.id) + ": "));
    std::size_t at = 0;
    for (const std::string_view section : {"\n\n## What it is\n", "\n\n## In a report\n",
                                           "\n\n## Confirm\n", "\n\n## Fix\n", "\n\n## Source\n"}) {
      CAPTURE(section);
      const std::size_t found = page.text.find(section, at);
      REQUIRE(found != page.text.npos);
      at = found + section.size();
    }
    CHECK(page.text.substr(at).size() > 20);
    const auto lines = std::count(page.text.begin(), page.text.end(), '\n');
    CHECK(lines >= 15);
    CHECK(lines <= 40);
  }
}

TEST_CASE("a page fits into 80 columns but for commands and code") {
  for (const CausePage& page : cause_pages()) {
    CAPTURE(page.id);
    std::istringstream lines(rendered(page.text, 80));
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("    ")) CHECK_MESSAGE(line.size() <= 80, line);
    }
  }
}

TEST_CASE("paragraphs and items are wrapped, commands are not") {
  CHECK(rendered("# a: title\n\nsome words that\nbelong together\n"
                 "- an item with words\n  and more\n    ./a command that is longer\n",
                 24) ==
        "a: title\n\nsome words that belong\ntogether\n- an item with words and\n  more\n"
        "    ./a command that is longer\n");
}

TEST_CASE("an empty line follows commands") {
  CHECK(rendered("words\n    ./one\n    ./two\nmore\n", 80) ==
        "words\n    ./one\n    ./two\n\nmore\n");
  CHECK(rendered("    ./one\n\nmore\n", 80) == "    ./one\n\nmore\n");
}

TEST_CASE("headings are bold where there is colour") {
  Page page(Terminal{.width = 80, .color = true});
  render_markdown("## Fix\ntext\n", page);
  CHECK(page.text() == "\x1b[1mFix\x1b[0m\ntext\n");
}

}  // namespace
