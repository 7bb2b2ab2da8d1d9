#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "capture/mutex.hpp"
#include "ring/message.hpp"

namespace ulpscope::capture {

/// A forward op, as found again from the node that it made in the autograd graph.
struct ForwardOp {
  std::uint64_t position = ring::kNone;
  std::uint32_t lane = 0;
  std::uint32_t module = 0;
};

/// Forward ops by the identity of their node: (thread, sequence number), which autograd gives to
/// each node once. Holds the latest `most` nodes, in as little memory as they have left when their
/// backward has run.
class ForwardLinks {
 public:
  /// Both are powers of two.
  ForwardLinks(std::pmr::memory_resource& memory, std::size_t at_first, std::size_t most);

  /// The innermost op that ends with a node made it: later ones do not replace it.
  void add(std::uint64_t thread, std::uint64_t sequence, const ForwardOp& op);
  [[nodiscard]] ForwardOp find(std::uint64_t thread, std::uint64_t sequence);
  void clear();

  /// Around a fork, which copies a lock as it is.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

  /// Nodes that there is space for.
  [[nodiscard]] std::size_t capacity() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    std::uint64_t sequence = ring::kNone;
    std::uint64_t position = ring::kNone;
    std::uint32_t thread = 0;
    std::uint32_t lane = 0;
    std::uint32_t module = 0;
    bool found = false;  ///< its backward has begun

    [[nodiscard]] bool is(std::uint32_t of_thread, std::uint64_t with_sequence) const noexcept {
      return sequence == with_sequence && thread == of_thread;
    }
  };

  [[nodiscard]] Entry& slot(std::uint64_t thread, std::uint64_t sequence) noexcept {
    return entries_[(sequence + thread * 0x9e3779b97f4a7c15ULL) & (entries_.size() - 1)];
  }
  void grow();

  Mutex mutex_;
  std::size_t most_;
  std::pmr::vector<Entry> entries_;
};

[[nodiscard]] ForwardLinks& forward_links();

}  // namespace ulpscope::capture
