#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "capture/memory.hpp"

namespace ulpscope::capture {

/// Whether all of these bytes can be read. False as well where the system does not say.
[[nodiscard]] bool is_mapped(const void* begin, std::size_t bytes) noexcept;

/// Memory of tensors that another process, which has not ended, has made and shares with this one
/// (`share_memory_`, queues of torch.multiprocessing), as mapped when this is constructed. LibTorch
/// names it after the process that makes it (`NewProcessWideShmHandle`, ATen/MapAllocator.cpp).
class BorrowedMemory {
 public:
  BorrowedMemory();

  [[nodiscard]] bool has(const void* memory) const noexcept;

 private:
  using Range = std::pair<std::uintptr_t, std::uintptr_t>;
  std::pmr::vector<Range> ranges_{&process_memory()};
};

}  // namespace ulpscope::capture
