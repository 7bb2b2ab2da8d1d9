#pragma once

#include <cstddef>

#include "ulpscope/digest.hpp"

namespace ulpscope::core {

/// XXH3-128 of at most one leaf, reading and prefetching nothing beyond it.
Digest leaf_digest_Baseline(const std::byte* bytes, std::size_t size) noexcept;
Digest leaf_digest_Avx2(const std::byte* bytes, std::size_t size) noexcept;
Digest leaf_digest_Avx512(const std::byte* bytes, std::size_t size) noexcept;

}  // namespace ulpscope::core
