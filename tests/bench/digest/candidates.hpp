#pragma once

#include <cstddef>
#include <span>

#include "ulpscope/digest.hpp"

/// The digest functions that were weighed against each other (lib/core/DIGEST.md).
namespace ulpscope::bench {

struct Candidate {
  const char* name;
  Digest (*digest)(const std::byte* bytes, std::size_t size);
  std::size_t leaf_bytes;  ///< pieces that can be hashed independently; 0: the whole value
};

std::span<const Candidate> candidates_sse2();
std::span<const Candidate> candidates_sse2_far();
std::span<const Candidate> candidates_avx2();
std::span<const Candidate> candidates_avx2_far();
std::span<const Candidate> candidates_avx512();
std::span<const Candidate> candidates_avx512_far();

/// Counts planted changes that each candidate does not see.
void measure_quality(std::span<const Candidate> candidates, std::size_t trials);

}  // namespace ulpscope::bench
