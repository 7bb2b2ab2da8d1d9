#include "cli/check/variants.hpp"

#include <doctest/doctest.h>

#include <string>

#include "ulpscope/error.hpp"

using namespace ulpscope;
using namespace ulpscope::cli;

namespace {

std::string refusal(const std::string& value) {
  try {
    static_cast<void>(variation("--vary", value));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::string value_of(const Variant& variant, const std::string& name) {
  for (const auto& [known, value] : variant.variables)
    if (known == name) return value.value_or("(unset)");
  return {};
}

}  // namespace

TEST_SUITE("variants") {
  TEST_CASE("without variations there is one, as it is") {
    const auto variants = variants_of({"./train", "{run}"}, {});
    REQUIRE(variants.size() == 1);
    CHECK(variants[0].label.empty());
    CHECK(variants[0].command == std::vector<std::string>{"./train", "{run}"});
  }

  TEST_CASE("threads are set for OpenMP and MKL, and in the command") {
    const auto variants =
        variants_of({"./train", "--threads={threads}"}, {variation("--vary", "threads=1,4")});
    REQUIRE(variants.size() == 2);
    CHECK(variants[1].label == "threads=4");
    CHECK(variants[1].command[1] == "--threads=4");
    CHECK(value_of(variants[1], "OMP_NUM_THREADS") == "4");
    CHECK(value_of(variants[1], "MKL_NUM_THREADS") == "4");
  }

  TEST_CASE("several variations give all combinations") {
    const auto variants = variants_of(
        {"./train"}, {variation("--vary", "threads=1,2"), variation("--vary", "env:X=a,b,c")});
    CHECK(variants.size() == 6);
    CHECK(variants[5].label == "threads=2 env:X=c");
    CHECK(value_of(variants[5], "X") == "c");
  }

  TEST_CASE("LibTorch's own switches are set by the recorder") {
    const auto variants = variants_of({"./train"}, {variation("--vary", "mkldnn=on,off")});
    CHECK(variants[1].record_options == std::vector<std::string>{"--set", "mkldnn=off"});
  }

  TEST_CASE("an instruction set is named in each library's own way") {
    const auto variants = variants_of({"./train"}, {variation("--vary", "isa=avx2,default")});
    CHECK(value_of(variants[0], "ATEN_CPU_CAPABILITY") == "avx2");
    CHECK(value_of(variants[1], "ONEDNN_MAX_CPU_ISA") == "SSE41");
  }

  TEST_CASE("what cannot be varied is refused, with the nearest name") {
    CHECK(refusal("treads=1,2") == "--vary does not know 'treads'");
    CHECK(refusal("threads=1") == "--vary threads needs two values or more");
    CHECK(refusal("threads") == "--vary threads needs two values or more");
    CHECK(refusal("threads=1,many") == "--vary threads does not take 'many'");
    CHECK(refusal("isa=avx2,avx3") == "--vary isa does not take 'avx3'");
    CHECK(refusal("mkldnn=on,1") == "--vary mkldnn does not take '1'");
    CHECK(refusal("env:=1,2") == "--vary does not know 'env:'");
  }

  TEST_CASE("a run's number stands in its command") {
    CHECK(command_of_run({"./train", "--out", "out-{run}/{run}"}, 3) ==
          std::vector<std::string>{"./train", "--out", "out-3/3"});
  }
}
