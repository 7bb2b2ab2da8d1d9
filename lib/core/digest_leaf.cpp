#include "core/digest_leaf.hpp"

#include "core/kernel_level.hpp"

#define XXH_INLINE_ALL
#define XXH_NO_PREFETCH
#include <xxhash.h>

namespace ulpscope::core {

Digest ULPSCOPE_KERNEL(leaf_digest_)(const std::byte* bytes, std::size_t size) noexcept {
  const XXH128_hash_t hash = XXH3_128bits(bytes, size);
  return {hash.high64, hash.low64};
}

}  // namespace ulpscope::core
