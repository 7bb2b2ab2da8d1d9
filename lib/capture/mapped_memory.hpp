#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "capture/memory.hpp"

namespace ulpscope::capture {

/// Whether all of these bytes can be read. False as well where the system does not say.
[[nodiscard]] bool is_mapped(const void* begin, std::size_t bytes) noexcept;

/// Memory that other processes may write, as mapped when this is constructed.
class BorrowedMemory {
 public:
  enum class Of : std::uint8_t {
    /// Tensors that another process, which has not ended, has made and shares with this one
    /// (`share_memory_`, queues of torch.multiprocessing). LibTorch names their memory after the
    /// process that makes it (`NewProcessWideShmHandle`, ATen/MapAllocator.cpp).
    running_makers,
    anyone,  ///< all that is shared
  };
  explicit BorrowedMemory(Of of);

  [[nodiscard]] bool has(const void* memory) const noexcept;

 private:
  using Range = std::pair<std::uintptr_t, std::uintptr_t>;
  std::pmr::vector<Range> ranges_{&process_memory()};
};

}  // namespace ulpscope::capture
