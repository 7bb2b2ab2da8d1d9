#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "dump/layout.hpp"
#include "dump/segment_reader.hpp"

namespace ulpscope::test {

/// How many contents each published segment of the only rank has.
[[nodiscard]] inline std::vector<std::size_t> contents_of_segments(
    const std::filesystem::path& dump) {
  std::vector<std::size_t> counts;
  const auto ranks = dump::list_ranks(dump);
  for (const std::uint32_t number : ranks.at(0).segments) {
    const auto path = dump::segment_path(ranks.at(0).directory, number);
    counts.push_back(dump::Segment::open(path)->tables().contents.size());
  }
  return counts;
}

}  // namespace ulpscope::test
