#include "core/glob.hpp"

#include <doctest/doctest.h>

#include <string>

#include "core/module_path.hpp"

using namespace ulpscope::core;

TEST_SUITE("glob") {
  TEST_CASE("a pattern fits the whole text") {
    CHECK(glob_match("a*c", "abbc"));
    CHECK(glob_match("a?c", "abc"));
    CHECK(glob_match("layer[12]", "layer2"));
    CHECK_FALSE(glob_match("layer[12]", "layer3"));
    CHECK_FALSE(glob_match("a*", "ba"));
    CHECK_FALSE(glob_match("a", "ab"));
  }

  TEST_CASE("slashes and dots are characters like others") {
    CHECK(glob_match("*", ".a/b.c"));
    CHECK(glob_match("a?b", "a/b"));
  }

  TEST_CASE("long texts") {
    const std::string text(5000, 'x');
    CHECK(glob_match("x*x", text));
    CHECK_FALSE(glob_match("x*y", text));
  }

  TEST_CASE("an op goes by its name without namespace") {
    CHECK(glob_match_op("mul", "aten::mul"));
    CHECK(glob_match_op("aten::m*", "aten::mul"));
    CHECK_FALSE(glob_match_op("mul", "aten::mul_"));
  }

  TEST_CASE("a module goes by that of a module it is in") {
    CHECK(glob_match_module("layer1", "layer1.0.conv1"));
    CHECK(glob_match_module("layer?.0", "layer1.0.conv1"));
    CHECK_FALSE(glob_match_module("conv1", "layer1.0.conv1"));
    CHECK_FALSE(glob_match_module("layer", "layer1.0"));
  }

  TEST_CASE("the root has a name of its own") {
    CHECK(glob_match_module("(root)", ""));
    CHECK_FALSE(glob_match_module("(root)", "layer1"));
    CHECK_FALSE(glob_match_module("layer1", ""));
  }
}

TEST_SUITE("module path") {
  TEST_CASE("around a tensor is its module, around that the one it is in") {
    CHECK(path_around("layer1.conv1.weight") == "layer1.conv1");
    CHECK(path_around("layer1") == "");
    CHECK(path_around("") == "");
  }

  TEST_CASE("below is a part, not a longer name") {
    CHECK(is_below("layer1.conv1", "layer1"));
    CHECK(is_below("layer1", ""));
    CHECK_FALSE(is_below("layer10", "layer1"));
    CHECK_FALSE(is_below("layer1", "layer1"));
    CHECK_FALSE(is_below("", ""));
  }
}
