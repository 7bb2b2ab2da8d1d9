#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <utility>
#include <vector>

#include "capture/mutex.hpp"
#include "ring/message.hpp"

namespace ulpscope::capture {

/// Where a value crosses the boundary of a module's call.
struct Boundary {
  std::uint64_t call = ring::kNone;  ///< position of the module's event
  std::uint32_t lane = 0;            ///< of that event
  std::uint32_t module = 0;
  std::uint16_t index = 0;  ///< of the input or output
  bool is_output = false;
};

/// Boundaries by the value's place in the autograd graph: the gradient with respect to output
/// `output` of a node is what the node receives there. Holds the latest 16 of every one of up to
/// `most_rows` parts of the graph, in as little memory as they have left when their backward has
/// run.
class BoundaryLinks {
 public:
  /// A node as autograd names it once: by thread and sequence number.
  struct Key {
    std::uint64_t thread = 0;
    std::uint64_t sequence = ring::kNone;
    std::uint32_t output = 0;

    friend bool operator==(const Key&, const Key&) = default;
  };

  /// Both are powers of two.
  BoundaryLinks(std::pmr::memory_resource& memory, std::size_t rows_at_first,
                std::size_t most_rows);

  void add(const Key& key, const Boundary& boundary);
  /// Boundaries of all outputs of a node, in the order in which they were added.
  void find(std::uint64_t thread, std::uint64_t sequence,
            std::pmr::vector<std::pair<Key, Boundary>>& found);

  void clear();

  /// Boundaries that there is space for.
  [[nodiscard]] std::size_t capacity() const noexcept { return rows_.size() * Row{}.size(); }

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  struct Entry {
    Key key;
    std::uint64_t order = 0;  ///< 0: free
    Boundary boundary;
    bool found = false;  ///< the backward of its node has begun
  };
  using Row = std::array<Entry, 16>;

  [[nodiscard]] Row& row_of(std::uint64_t thread, std::uint64_t sequence) noexcept {
    return rows_[(sequence + thread * 0x9e3779b97f4a7c15ULL) & (rows_.size() - 1)];
  }
  [[nodiscard]] static Entry& oldest(Row& row) noexcept;
  void grow();

  Mutex mutex_;
  std::uint64_t added_ = 0;
  std::size_t most_rows_;
  std::pmr::vector<Row> rows_;
};

[[nodiscard]] BoundaryLinks& boundary_links();

}  // namespace ulpscope::capture
