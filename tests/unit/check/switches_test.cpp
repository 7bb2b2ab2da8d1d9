#include "cli/check/switches.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/memory_run.hpp"

using namespace ulpscope;
using namespace ulpscope::cli;

namespace {

using Words = std::vector<std::string>;

void start(test::MemoryRun& run, const Words& command, const Words& settings = {}) {
  run.details.command = command;
  for (const std::string& setting : settings)
    run.settings.push_back(
        {kSetup, setting.substr(0, setting.find('=')), setting.substr(setting.find('=') + 1)});
}

Words names(const TwoStarts& starts) {
  Words names;
  for (const Switch& one : starts.switches) names.push_back(one.name);
  return names;
}

}  // namespace

TEST_SUITE("switches") {
  TEST_CASE("each option that differs is a switch, with its values") {
    test::MemoryRun a;
    test::MemoryRun b;
    start(a, {"./train", "--lr", "0.1", "--eps", "1e-5", "data.csv"});
    start(b, {"./train", "--lr", "0.2", "--eps", "1e-6", "--threads", "2", "data.csv"});
    const TwoStarts starts = starts_of(a, b);
    CHECK(names(starts) == Words{"--lr", "--eps", "--threads"});
    CHECK(start_with(starts, {}).command == a.details.command);
    CHECK(start_with(starts, {0, 1, 2}).command == b.details.command);
    CHECK(start_with(starts, {1}).command ==
          Words{"./train", "--lr", "0.1", "--eps", "1e-6", "data.csv"});
  }

  TEST_CASE("an option that only the reference has can be left out") {
    test::MemoryRun a;
    test::MemoryRun b;
    start(a, {"./train", "--augment", "--steps=3"});
    start(b, {"./train", "--steps=3"});
    const TwoStarts starts = starts_of(a, b);
    CHECK(names(starts) == Words{"--augment"});
    CHECK(start_with(starts, {0}).command == b.details.command);
  }

  TEST_CASE("a different program is a switch") {
    test::MemoryRun a;
    test::MemoryRun b;
    start(a, {"./old", "--steps", "3"});
    start(b, {"./new", "--steps", "3"});
    CHECK(names(starts_of(a, b)) == Words{"the program"});
  }

  TEST_CASE("variables that differ are switches, the others are as they were") {
    test::MemoryRun a;
    test::MemoryRun b;
    start(a, {"./train"}, {"env.OMP_NUM_THREADS=1", "env.MKL_CBWR=AVX2"});
    start(b, {"./train"}, {"env.MKL_CBWR=AVX2", "env.KMP_AFFINITY=compact"});
    const TwoStarts starts = starts_of(a, b);
    CHECK(names(starts) == Words{"KMP_AFFINITY", "OMP_NUM_THREADS"});
    const Variables none = start_with(starts, {}).variables;
    CHECK(none == Variables{{"MKL_CBWR", "AVX2"},
                            {"KMP_AFFINITY", std::nullopt},
                            {"OMP_NUM_THREADS", "1"}});
    CHECK(start_with(starts, {1}).variables.back() ==
          std::pair<std::string, std::optional<std::string>>("OMP_NUM_THREADS", std::nullopt));
  }

  TEST_CASE("switches of LibTorch are given to the recorder, other settings are listed") {
    test::MemoryRun a;
    test::MemoryRun b;
    start(a, {"./train"}, {"flag.mkldnn.enabled=on", "torch.version=2.11.0"});
    start(b, {"./train"}, {"flag.mkldnn.enabled=off", "torch.version=2.12.0"});
    const TwoStarts starts = starts_of(a, b);
    CHECK(names(starts) == Words{"mkldnn"});
    CHECK(start_with(starts, {0}).record_options == Words{"--set", "mkldnn=off"});
    CHECK(starts.others == Words{"torch.version"});
  }
}
