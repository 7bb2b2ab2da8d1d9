#pragma once

#include <cstddef>
#include <cstdint>

#include "core/cpu_level.hpp"
#include "ulpscope/digest.hpp"

/// The digest function itself (DIGEST.md), compiled once per instruction set.
namespace ulpscope::core {

inline constexpr std::size_t kLeafBytes = 4096;

/// Space for an unfinished tree, as DigestStream keeps it.
inline constexpr std::size_t kTreeBytes = 5120;
inline constexpr std::size_t kTreeAlignment = 64;

/// `tree` points to kTreeBytes bytes, aligned to kTreeAlignment, begun by `start`. A tree begun by
/// one level's kernel may be continued by a different level's.
struct DigestKernel {
  Digest (*whole)(const std::byte* bytes, std::size_t size) noexcept;
  void (*start)(std::byte* tree) noexcept;
  void (*update)(std::byte* tree, const std::byte* bytes, std::size_t size) noexcept;
  void (*update_zeros)(std::byte* tree, std::uint64_t size) noexcept;
  Digest (*finish)(std::byte* tree) noexcept;
};

extern const DigestKernel kDigestBaseline;
extern const DigestKernel kDigestAvx2;
extern const DigestKernel kDigestAvx512;

/// The kernel compiled for `level`, which must be supported.
[[nodiscard]] const DigestKernel& digest_kernel(CpuLevel level) noexcept;

}  // namespace ulpscope::core
