#include <cstdint>
#include <new>

#include "core/digest_kernel.hpp"
#include "core/digest_leaf.hpp"
#include "core/kernel_level.hpp"

// Two leaves ahead: the library's 384 bytes leave the start of every leaf to wait for memory.
#define XXH_PREFETCH_DIST 8192
// Everything of xxHash becomes static here, so each object file keeps the code that was compiled
// for its own instruction set.
#define XXH_INLINE_ALL
#include <xxhash.h>

// Nothing in this file may call an inline function that other files share: the linker would keep
// one copy of it, perhaps the one that only newer processors can run.
namespace ulpscope::core {
namespace {

constexpr std::size_t kDigestBytes = 16;
static_assert(sizeof(XXH128_hash_t) == kDigestBytes);
static_assert(kLeafBytes % kDigestBytes == 0);

/// Levels that 2^64 bytes need: each node holds this many digests of the level below.
constexpr std::uint64_t kFanOut = kLeafBytes / kDigestBytes;
constexpr unsigned levels_needed() {
  unsigned levels = 1;
  for (std::uint64_t nodes = ~std::uint64_t{0} / kLeafBytes; nodes > 0; nodes /= kFanOut) ++levels;
  return levels;
}
constexpr unsigned kLevels = levels_needed();

/// An unfinished tree. Level 0 hashes the bytes, every level above the digests of the one below. A
/// full node is closed when something follows it, so the last node of a level is never empty.
struct Tree {
  XXH3_state_t node[kLevels];
  std::size_t filled[kLevels];  // bytes in the unfinished node
  unsigned height;              // levels in use
  std::uint64_t size;           // bytes of the value so far
};
static_assert(sizeof(Tree) <= kTreeBytes);
static_assert(alignof(Tree) <= kTreeAlignment);

Digest to_digest(XXH128_hash_t hash) noexcept { return {hash.high64, hash.low64}; }

XXH128_hash_t short_leaf(const std::byte* bytes, std::size_t size) noexcept {
  const Digest digest = ULPSCOPE_KERNEL(leaf_digest_)(bytes, size);
  return {digest.low, digest.high};
}

void open_node(Tree& tree, unsigned level) noexcept {
  XXH3_128bits_reset(&tree.node[level]);
  tree.filled[level] = 0;
}

/// Adds the digest of a closed node to `level`.
void push(Tree& tree, unsigned level, XXH128_hash_t hash) noexcept {
  if (level == tree.height) {
    ++tree.height;
    open_node(tree, level);
  } else if (tree.filled[level] == kLeafBytes) {
    push(tree, level + 1, XXH3_128bits_digest(&tree.node[level]));
    open_node(tree, level);
  }
  XXH3_128bits_update(&tree.node[level], &hash, sizeof(hash));
  tree.filled[level] += sizeof(hash);
}

/// push() for `count` closed nodes with the same digest: those that fill nodes above are hashed
/// once.
void push_equal(Tree& tree, unsigned level, XXH128_hash_t hash, std::uint64_t count) noexcept {
  for (; count > 0 && (level == tree.height || tree.filled[level] < kLeafBytes); --count)
    push(tree, level, hash);
  if (count > kFanOut) {
    XXH128_hash_t children[kFanOut];
    for (XXH128_hash_t& child : children) child = hash;
    push(tree, level + 1, XXH3_128bits_digest(&tree.node[level]));
    open_node(tree, level);
    const std::uint64_t full = (count - 1) / kFanOut;
    push_equal(tree, level + 1, XXH3_128bits(children, sizeof(children)), full);
    count -= full * kFanOut;
  }
  for (; count > 0; --count) push(tree, level, hash);
}

/// Takes whole leaves off the front of the bytes as long as some bytes follow them.
void push_leaves(Tree& tree, const std::byte*& bytes, std::size_t& size) noexcept {
  for (; size > XXH_PREFETCH_DIST + kLeafBytes; bytes += kLeafBytes, size -= kLeafBytes)
    push(tree, 1, XXH3_128bits(bytes, kLeafBytes));
  for (; size > kLeafBytes; bytes += kLeafBytes, size -= kLeafBytes)
    push(tree, 1, short_leaf(bytes, kLeafBytes));
}

/// Closes the nodes from `level` up and binds the number of bytes to the result.
Digest close(Tree& tree, unsigned level) noexcept {
  for (; level + 1 < tree.height; ++level)
    push(tree, level + 1, XXH3_128bits_digest(&tree.node[level]));
  const XXH128_hash_t top = XXH3_128bits_digest(&tree.node[level]);
  return to_digest(XXH3_128bits_withSeed(&top, sizeof(top), tree.size));
}

Digest whole(const std::byte* bytes, std::size_t size) noexcept {
  if (size <= kLeafBytes) return ULPSCOPE_KERNEL(leaf_digest_)(bytes, size);
  Tree tree;
  tree.height = 1;
  tree.size = size;
  push_leaves(tree, bytes, size);
  push(tree, 1, short_leaf(bytes, size));
  return close(tree, 1);
}

Tree& tree_at(std::byte* tree) noexcept {
  return *__builtin_launder(reinterpret_cast<Tree*>(tree));
}

void start(std::byte* memory) noexcept {
  Tree& tree = *new (memory) Tree;
  tree.height = 1;
  tree.size = 0;
  open_node(tree, 0);
}

void update(std::byte* memory, const std::byte* bytes, std::size_t size) noexcept {
  Tree& tree = tree_at(memory);
  tree.size += size;
  while (size > 0) {
    if (tree.filled[0] == kLeafBytes) {
      push(tree, 1, XXH3_128bits_digest(&tree.node[0]));
      open_node(tree, 0);
    }
    if (tree.filled[0] == 0) push_leaves(tree, bytes, size);
    const std::size_t room = kLeafBytes - tree.filled[0];
    const std::size_t taken = size < room ? size : room;
    XXH3_128bits_update(&tree.node[0], bytes, taken);
    tree.filled[0] += taken;
    bytes += taken;
    size -= taken;
  }
}

void update_zeros(std::byte* memory, std::uint64_t size) noexcept {
  static constexpr std::byte kZeros[kLeafBytes] = {};
  Tree& tree = tree_at(memory);
  const std::uint64_t room = kLeafBytes - tree.filled[0];
  update(memory, kZeros, size < room ? size : room);
  if (size <= room) return;
  size -= room;
  // The unfinished leaf is full now. Something follows it, and each leaf but the last one.
  const std::uint64_t leaves = (size - 1) / kLeafBytes;
  if (leaves > 0) {
    push(tree, 1, XXH3_128bits_digest(&tree.node[0]));
    open_node(tree, 0);
    push_equal(tree, 1, XXH3_128bits(kZeros, kLeafBytes), leaves);
    tree.size += leaves * kLeafBytes;
    size -= leaves * kLeafBytes;
  }
  update(memory, kZeros, size);
}

Digest finish(std::byte* memory) noexcept {
  Tree& tree = tree_at(memory);
  if (tree.height == 1) return to_digest(XXH3_128bits_digest(&tree.node[0]));
  return close(tree, 0);
}

}  // namespace

const DigestKernel ULPSCOPE_KERNEL(kDigest){&whole, &start, &update, &update_zeros, &finish};

}  // namespace ulpscope::core
