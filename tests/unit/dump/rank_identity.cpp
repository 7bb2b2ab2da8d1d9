#include "dump/rank_identity.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "dump/layout.hpp"
#include "dump/rank_numbers.hpp"
#include "tests/support/dump_builder.hpp"

using namespace ulpscope;
using namespace ulpscope::dump;

namespace {

constexpr std::size_t kRank = 0;
constexpr std::size_t kSlurm = 3;

/// Processes of one machine, each of which is a rank of the dump.
class Machine {
 public:
  /// The command that was recorded.
  Machine() { path_.push_back({100, 10}); }

  NumberedOrigin& process(std::uint32_t number, std::vector<ProcessMark> path) {
    NumberedOrigin rank;
    rank.number = number;
    rank.origin.session = ranks.size() + 1;
    rank.origin.path = path_;
    rank.origin.path.insert(rank.origin.path.end(), path.begin(), path.end());
    return ranks.emplace_back(std::move(rank));
  }
  void declared(std::uint32_t number, std::vector<ProcessMark> path, std::uint32_t rank,
                std::size_t variable = kRank) {
    process(number, std::move(path)).origin.declared[variable] = rank;
  }

  std::vector<NumberedOrigin> ranks;

 private:
  std::vector<ProcessMark> path_;
};

}  // namespace

TEST_SUITE("rank identity") {
  TEST_CASE("a declared rank owns its number, whoever came first") {
    Machine machine;
    machine.process(0, {});  // the launcher computes something
    machine.declared(3, {{200, 13}}, 2);
    machine.declared(1, {{200, 11}}, 0);
    machine.declared(2, {{200, 12}}, 1);
    CHECK(numbers_of(machine.ranks) == std::vector<std::uint32_t>{3, 2, 0, 1});
    const auto who = identify(machine.ranks);
    CHECK(who[0].declared.empty());
    CHECK(who[1].declared == "RANK");
    CHECK(who[1].rank == 2);
    CHECK(who[1].creator == 0U);
  }

  TEST_CASE("who declares nothing is numbered in the order of creation") {
    Machine machine;
    machine.process(0, {{201, 30}});
    machine.process(1, {{200, 20}});
    machine.process(2, {});
    machine.process(3, {{200, 19}, {300, 40}});
    CHECK(numbers_of(machine.ranks) == std::vector<std::uint32_t>{3, 2, 0, 1});
    const auto who = identify(machine.ranks);
    CHECK(who[3].order == 0);
    CHECK(who[1].order == 1);
    CHECK(who[0].order == 2);
    CHECK(who[0].creator == 2U);
    CHECK(who[0].order_counts);
  }

  TEST_CASE("a forked worker is not the rank whose variable it inherits") {
    Machine machine;
    machine.declared(1, {{200, 20}, {300, 30}}, 1);  // computes before its creator does
    machine.declared(0, {{200, 20}}, 1);
    const auto who = identify(machine.ranks);
    CHECK(who[0].declared.empty());
    CHECK(who[0].creator == 0U);
    CHECK(who[1].declared == "RANK");
    CHECK(numbers_of(machine.ranks) == std::vector<std::uint32_t>{2, 1});
  }

  TEST_CASE("RANK decides over what the launcher is") {
    Machine machine;
    machine.declared(0, {}, 0, kSlurm);
    machine.declared(1, {{200, 20}}, 0);
    machine.ranks.back().origin.declared[kSlurm] = 0;
    machine.declared(2, {{200, 21}}, 1);
    CHECK(numbers_of(machine.ranks) == std::vector<std::uint32_t>{2, 0, 1});
    CHECK(identify(machine.ranks)[0].declared.empty());
  }

  TEST_CASE("a rank that was started again has its place in time") {
    Machine machine;
    machine.declared(1, {{900, 90}}, 1);
    machine.declared(0, {{200, 20}}, 1);
    machine.declared(2, {{200, 21}}, 0);
    const auto who = identify(machine.ranks);
    CHECK(who[0].rank == 1);
    CHECK(who[0].restart == 1);
    CHECK(who[1].restart == 0);
    CHECK(numbers_of(machine.ranks) == std::vector<std::uint32_t>{2, 1, 0});
  }

  TEST_CASE("a process that executed another program comes after what it was") {
    Machine machine;
    machine.process(0, {{200, 20}});
    machine.process(1, {{200, 20}});
    CHECK(identify(machine.ranks)[0].order == 0);
    CHECK(identify(machine.ranks)[1].order == 1);
    CHECK_FALSE(identify(machine.ranks)[1].creator);
  }

  TEST_CASE("the order of creation by several threads says nothing") {
    Machine machine;
    machine.process(0, {{200, 20}}).origin.forking_thread = 11;
    machine.process(1, {{200, 21}}).origin.forking_thread = 12;
    CHECK_FALSE(identify(machine.ranks)[0].order_counts);
    machine.ranks[1].origin.forking_thread = 11;
    CHECK(identify(machine.ranks)[0].order_counts);
  }

  TEST_CASE("nor does it where a creator had ended") {
    Machine machine;
    machine.process(0, {{200, 20}});
    machine.process(1, {{200, 21}}).origin.path = {{200, 21}};
    CHECK_FALSE(identify(machine.ranks)[0].order_counts);
  }

  TEST_CASE("nothing is known where one rank has no origin") {
    Machine machine;
    machine.process(0, {{200, 20}});
    machine.process(1, {{200, 21}}).origin = {};
    CHECK_FALSE(identify(machine.ranks)[0].known);
    CHECK(numbers_of(machine.ranks).empty());
  }

  TEST_CASE("folders are renamed to what their ranks are called") {
    const test::TempDir dir;
    Machine machine;
    machine.declared(2, {{200, 20}}, 0);
    machine.declared(0, {{200, 21}}, 1);
    machine.declared(1, {{200, 22}}, 2);
    for (const NumberedOrigin& rank : machine.ranks) {
      std::filesystem::create_directories(rank_path(dir.path(), rank.number));
      std::ofstream(rank_path(dir.path(), rank.number) / "who") << rank.origin.session;
    }
    CHECK(renumber(dir.path(), machine.ranks) == std::vector<std::uint32_t>{0, 1, 2});
    for (const std::uint32_t number : {0U, 1U, 2U}) {
      std::uint32_t session = 0;
      std::ifstream(rank_path(dir.path(), number) / "who") >> session;
      CHECK(session == number + 1);
    }
    CHECK(list_ranks(dir.path()).size() == 3);
  }

  TEST_CASE("a folder that belongs to nobody stays, and so does the number of the rank") {
    const test::TempDir dir;
    Machine machine;
    machine.declared(0, {{200, 20}}, 1);
    std::filesystem::create_directories(rank_path(dir.path(), 0));
    std::filesystem::create_directories(rank_path(dir.path(), 1));
    CHECK(renumber(dir.path(), machine.ranks) == std::vector<std::uint32_t>{0});
  }
}
