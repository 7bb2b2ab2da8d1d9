#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "ring/message.hpp"

namespace ulpscope::capture {

/// A forward op, as the node that it made in the autograd graph finds it again.
struct ForwardOp {
  std::uint64_t position = ring::kNone;
  std::uint32_t lane = 0;
  std::uint32_t module = 0;
};

/// Forward ops by the identity of their node: (thread, sequence number), which autograd gives to
/// each node once. Holds the latest 262,144 nodes.
class ForwardLinks {
 public:
  /// The innermost op that ends with a node made it: later ones do not replace it.
  void add(std::uint64_t thread, std::uint64_t sequence, const ForwardOp& op);
  [[nodiscard]] ForwardOp find(std::uint64_t thread, std::uint64_t sequence);
  void clear();

 private:
  struct Entry {
    std::uint64_t thread = 0;
    std::uint64_t sequence = ring::kNone;
    ForwardOp op;
  };
  static constexpr std::size_t kSize = 1 << 18;

  Entry& slot(std::uint64_t thread, std::uint64_t sequence) {
    return entries_[(sequence + thread * 0x9e3779b97f4a7c15ULL) % kSize];
  }

  std::mutex mutex_;
  std::array<Entry, kSize> entries_;
};

[[nodiscard]] ForwardLinks& forward_links();

}  // namespace ulpscope::capture
