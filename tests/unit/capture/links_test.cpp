#include <doctest/doctest.h>

#include <memory_resource>
#include <utility>
#include <vector>

#include "capture/boundary_links.hpp"
#include "capture/forward_links.hpp"

using namespace ulpscope;
using capture::Boundary;
using capture::BoundaryLinks;
using capture::ForwardLinks;

namespace {

constexpr std::uint64_t kThread = 1;

std::uint64_t boundaries_of(BoundaryLinks& links, std::uint64_t sequence) {
  std::pmr::vector<std::pair<BoundaryLinks::Key, Boundary>> found;
  links.find(kThread, sequence, found);
  return found.size();
}

TEST_SUITE("links from nodes to what made them") {
  TEST_CASE("a forward op is found however many nodes come before their backward") {
    ForwardLinks links(*std::pmr::new_delete_resource(), 8, 64);
    for (std::uint64_t node = 0; node < 64; ++node) links.add(kThread, node, {node + 100, 0, 0});
    for (std::uint64_t node = 64; node-- > 0;)
      CHECK(links.find(kThread, node).position == node + 100);
  }

  TEST_CASE("nodes whose backward has begun leave their room to others") {
    ForwardLinks links(*std::pmr::new_delete_resource(), 8, 64);
    for (std::uint64_t node = 0; node < 1000; ++node) {
      links.add(kThread, node, {node, 0, 0});
      CHECK(links.find(kThread, node).position == node);
    }
    CHECK(links.capacity() == 8);
  }

  TEST_CASE("of more nodes than there may be room for the latest are found") {
    ForwardLinks links(*std::pmr::new_delete_resource(), 8, 64);
    for (std::uint64_t node = 0; node < 100; ++node) links.add(kThread, node, {node, 0, 0});
    CHECK(links.capacity() == 64);
    CHECK(links.find(kThread, 35).position == ring::kNone);
    CHECK(links.find(kThread, 36).position == 36);
  }

  TEST_CASE("nodes of threads do not stand for each other") {
    ForwardLinks links(*std::pmr::new_delete_resource(), 8, 64);
    links.add(1, 7, {1, 0, 0});
    links.add(2, 7, {2, 0, 0});
    CHECK(links.find(1, 7).position == 1);
    CHECK(links.find(2, 7).position == 2);
  }

  TEST_CASE("a boundary is found however many come before their backward") {
    BoundaryLinks links(*std::pmr::new_delete_resource(), 1, 8);
    for (std::uint64_t node = 0; node < 64; ++node)
      for (std::uint32_t output = 0; output < 2; ++output)
        links.add({kThread, node, output}, {.call = node});
    for (std::uint64_t node = 0; node < 64; ++node) CHECK(boundaries_of(links, node) == 2);
  }

  TEST_CASE("boundaries whose backward has begun leave their room to others") {
    BoundaryLinks links(*std::pmr::new_delete_resource(), 1, 8);
    for (std::uint64_t node = 0; node < 1000; ++node) {
      links.add({kThread, node, 0}, {.call = node});
      CHECK(boundaries_of(links, node) == 1);
    }
    CHECK(links.capacity() == 16);
  }
}

}  // namespace
