#include "compare/diff/outcomes/saved_files.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace ulpscope;

namespace {

struct File {
  std::string name;
  std::string numbers;
  std::string others = {};
};

std::vector<EnvironmentEntry> saved(const std::vector<File>& files, const std::string& thread = "",
                                    const std::string& keys = "a: int\nb: int") {
  std::vector<EnvironmentEntry> entries = {{.key = "saved.keys." + keys, .value = keys}};
  for (std::size_t k = 0; k < files.size(); ++k) {
    const std::string key = "saved.file." + thread + std::to_string(k);
    entries.push_back({.key = key, .value = keys});
    if (!files[k].name.empty()) entries.push_back({.key = key + ".name", .value = files[k].name});
    entries.push_back({.key = key + ".numbers", .value = files[k].numbers});
    if (!files[k].others.empty())
      entries.push_back({.key = key + ".others", .value = files[k].others});
  }
  return entries;
}

std::string words_of(const std::vector<ArgumentReport>& reports) {
  std::string words;
  for (const ArgumentReport& report : reports)
    words += report.name + " " + report.reference.value_or("none") + " " +
             report.candidate.value_or("none") + ";";
  return words;
}

std::string differing(const std::vector<EnvironmentEntry>& reference,
                      const std::vector<EnvironmentEntry>& candidate) {
  return words_of(comparison::saved_otherwise({reference, candidate}).reports);
}

comparison::LastFile last(const std::string& name, const std::string& path, unsigned number) {
  return {.name = name, .path = path, .number = number};
}

/// As "name: number and number", "(perhaps)" if it is not certain.
std::vector<std::string> same(const Both<std::vector<comparison::LastFile>>& files) {
  std::vector<std::string> words;
  for (const auto& [name, both, certain] : comparison::same_files(files))
    words.push_back(name + ": " + std::to_string(both.reference.number) + " and " +
                    std::to_string(both.candidate.number) + (certain ? "" : " (perhaps)"));
  return words;
}

}  // namespace

TEST_SUITE("saved_files") {
  TEST_CASE("a file is compared with the one of its name") {
    const auto reference = saved({{"last", "a=1"}, {"best", "a=2"}});
    CHECK(differing(reference, saved({{"best", "a=2"}, {"last", "a=1"}})).empty());
    CHECK(differing(reference, saved({{"best", "a=2"}, {"last", "a=3"}})) == "a 1 3;");
  }

  TEST_CASE("files of one name are compared in the order in which they were saved") {
    const auto reference = saved({{"last", "a=1"}, {"last", "a=2"}});
    CHECK(differing(reference, saved({{"last", "a=2"}, {"last", "a=1"}})) == "a 1 2;");
  }

  TEST_CASE("a file that one run saves once more is compared with none") {
    const auto reference = saved({{"", "a=1"}, {"", "a=3"}});
    CHECK(differing(reference, saved({{"", "a=1"}, {"", "a=2"}, {"", "a=3"}})).empty());
    CHECK(differing(reference, saved({{"", "a=1"}, {"", "a=2"}, {"", "a=4"}})) == "a 3 2;");
  }

  TEST_CASE("what is left in a file counts, however often it was saved") {
    const auto reference = saved({{"last", "a=1"}, {"last", "a=2"}, {"last", "a=1"}});
    CHECK(differing(reference, saved({{"last", "a=1"}, {"last", "a=2"}})) == "a 1 2;");
    CHECK(differing(reference, saved({{"last", "a=2"}, {"last", "a=1"}})).empty());
  }

  TEST_CASE("files whose names both runs chose otherwise are compared in order") {
    CHECK(differing(saved({{"run1", "a=1"}}), saved({{"run2", "a=1"}})).empty());
    CHECK(differing(saved({{"run1", "a=1"}}), saved({{"run2", "a=2"}})) == "a 1 2;");
  }

  TEST_CASE("files of threads have no order") {
    const auto reference = saved({{"", "a=1"}, {"", "a=2"}}, "t");
    CHECK(differing(reference, saved({{"", "a=2"}, {"", "a=1"}}, "t")).empty());
    CHECK(differing(reference, saved({{"", "a=2"}, {"", "a=3"}}, "t")) == "a 1 3;");
  }

  TEST_CASE("an archive has the keys of its tensors in their order") {
    std::vector<EnvironmentEntry> entries = {
        {.key = "saved.archive.0", .value = "digest"},
        {.key = "saved.archive.0.name", .value = "both"},
        {.key = "saved.archive.0.tensors", .value = "2"},
        {.key = "saved.archive.0.order", .value = "second\nfirst"}};
    const auto files = comparison::last_files(entries, 2);
    REQUIRE(files.size() == 1);
    CHECK(files[0].is_archive);
    CHECK(files[0].keys == std::vector<std::string>{"second", "first"});
    entries.push_back({.key = "saved.file.0", .value = "digest"});
    entries.push_back({.key = "saved.file.0.tensors", .value = "0"});
    CHECK(comparison::last_files(entries, 2).empty());  // which was saved first is not known
  }

  TEST_CASE("of each name the last file has the tensors that were saved with it") {
    std::vector<EnvironmentEntry> entries = saved({{"best", ""}, {"last", ""}, {"best", ""}});
    CHECK(comparison::last_files(entries, 6).empty());  // it is not noted how many
    for (const int file : {0, 1, 2})
      entries.push_back({.key = "saved.file." + std::to_string(file) + ".tensors",
                         .value = std::to_string(file + 1)});
    const auto files = comparison::last_files(entries, 6);
    REQUIRE(files.size() == 2);
    CHECK(files[0].name == "best");
    CHECK(files[0].number == 2);
    CHECK(files[0].first == 3);
    CHECK(files[0].tensors == 3);
    CHECK(files[1].name == "last");
    CHECK(files[1].first == 1);
    CHECK(comparison::last_files(entries, 7).empty());  // one is saved past any file
  }

  TEST_CASE("files with the same name are matched by path where both runs have the same paths") {
    const auto files = std::vector{last("m", "a/m.pt", 0), last("m", "b/m.pt", 1)};
    CHECK(same({files, {last("m", "a/m.pt", 1), last("m", "b/m.pt", 0)}}) ==
          std::vector<std::string>{"a/m.pt: 0 and 1", "b/m.pt: 1 and 0"});
    CHECK(same({files, {last("m", "c/m.pt", 3), last("m", "d/m.pt", 2)}}) ==
          std::vector<std::string>{"m: 1 and 3"});
    CHECK(same({{last("m", "a/m.pt", 0)}, {last("m", "b/m.pt", 1)}}) ==
          std::vector<std::string>{"m: 0 and 1"});
  }

  TEST_CASE("a name with digits may say when the file was saved") {
    CHECK(same({{last("m1", "a/m1.pt", 0)}, {last("m1", "a/m1.pt", 1)}}) ==
          std::vector<std::string>{"m1: 0 and 1 (perhaps)"});
    CHECK(same({{last("m1", "", 0), last("m2", "", 1)}, {last("m1", "", 1)}}).empty());
  }

  TEST_CASE("keys in another order are not other keys") {
    const auto reference = saved({{"", "a=1"}}, "", "a: int\nb: int");
    CHECK(differing(reference, saved({{"", "a=1"}}, "", "a: int\nc: bool")) ==
          "key b: int c: bool;");
    CHECK(differing(reference, saved({{"", "a=1"}}, "", "b: int\na: int")) ==
          "order of keys a: int b: int;");
  }

  TEST_CASE("of numbers that may be times only the order counts") {
    const auto reference = saved({{"", "a=1", "x=0.5\ny=0.25\nz=0.5"}});
    CHECK(differing(reference, saved({{"", "a=1", "x=0.5\ny=0.75\nz=0.5"}})).empty());
    CHECK(differing(reference, saved({{"", "a=1", "x=0.25\ny=0.5\nz=0.5"}})) ==
          "x 0.5 0.25;y 0.25 0.5;");
  }
}
