#include "compare/align/storage_pairs.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace ulpscope;
using namespace ulpscope::comparison;

namespace {

Slot slot_of(Role role, std::uint64_t storage, std::uint64_t content) {
  Slot slot;
  slot.role = role;
  slot.storage = storage;
  slot.digest = {content, content};
  return slot;
}

/// An op of both runs with one tensor, in these storages.
void pass(StoragePairs& pairs, Role role, std::uint64_t reference, std::uint64_t candidate,
          bool equal = true) {
  const Slot left = slot_of(role, reference, 1);
  const Slot right = slot_of(role, candidate, equal ? 1 : 2);
  pairs.passed({{&left, &right, equal ? Match::equal : Match::differs, nullptr}});
}

}  // namespace

TEST_SUITE("storage pairs") {
  TEST_CASE("what partners make is one storage in both runs, whatever it holds") {
    StoragePairs pairs;
    pass(pairs, Role::output, 3, 5);
    pass(pairs, Role::output, 4, 6, /*equal=*/false);
    pass(pairs, Role::output, 9, 7);
    for (const auto& [reference, candidate] :
         std::vector<std::pair<std::uint64_t, std::uint64_t>>{{3, 5}, {4, 6}, {9, 7}}) {
      CHECK(pairs.partner(Side::reference, reference) == candidate);
      CHECK(pairs.partner(Side::candidate, candidate) == reference);
    }
    for (const std::uint64_t unknown : {2, 5, 8, 10})
      CHECK_FALSE(pairs.partner(Side::reference, unknown));
  }

  TEST_CASE("a storage keeps its partner") {
    StoragePairs pairs;
    pass(pairs, Role::output, 1, 1);
    pass(pairs, Role::mutated, 1, 2);
    pass(pairs, Role::mutated, 2, 1);
    CHECK(pairs.partner(Side::reference, 1) == 1);
    CHECK_FALSE(pairs.partner(Side::reference, 2));
    CHECK_FALSE(pairs.partner(Side::candidate, 2));
  }

  TEST_CASE("what no op has made is one storage if it holds the same when it is read first") {
    StoragePairs pairs;
    pass(pairs, Role::input, 1, 2);
    pass(pairs, Role::input, 3, 4, /*equal=*/false);
    CHECK(pairs.partner(Side::reference, 1) == 2);
    CHECK_FALSE(pairs.partner(Side::reference, 3));
  }

  TEST_CASE("memory that nothing has filled may be that of any tensor") {
    StoragePairs pairs;
    Slot left = slot_of(Role::output, 1, 1);
    Slot right = slot_of(Role::output, 1, 1);
    left.flags = right.flags = slot_flag::uninitialised;
    pairs.passed({{&left, &right, Match::equal, nullptr}});
    CHECK_FALSE(pairs.partner(Side::reference, 1));
  }
}
