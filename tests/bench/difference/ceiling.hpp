#pragma once

#include <cstddef>
#include <cstdint>

namespace ulpscope::bench {

/// Reads both values and returns something that depends on every word: the least a comparison
/// costs.
std::uint64_t ceiling_sse2(const std::byte* a, const std::byte* b, std::size_t size);
std::uint64_t ceiling_avx2(const std::byte* a, const std::byte* b, std::size_t size);
std::uint64_t ceiling_avx512(const std::byte* a, const std::byte* b, std::size_t size);

}  // namespace ulpscope::bench
