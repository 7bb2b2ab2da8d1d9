#pragma once

#include <cstdint>

#include "ring/descriptor.hpp"
#include "ring/layout.hpp"

/// The writer's side of the shared memory: makes what programs being recorded map.
namespace ulpscope::ring {

/// A new ring, its memory allocated for good (touching it never raises SIGBUS) and its size sealed.
/// @throws Error with ErrorCode::io, in particular when there is not enough memory.
[[nodiscard]] Descriptor create_ring(std::uint64_t capacity);

/// The writer's page, writable here, read-only for everybody who gets its descriptor. Marked as
/// alive for as long as the constructing thread lives and this object does.
class WriterPageOwner {
 public:
  /// @throws Error with ErrorCode::io.
  WriterPageOwner();
  WriterPageOwner(const WriterPageOwner&) = delete;
  WriterPageOwner& operator=(const WriterPageOwner&) = delete;
  ~WriterPageOwner();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
  [[nodiscard]] const WriterPage& page() const noexcept { return *page_; }
  void note_progress() noexcept;

 private:
  Descriptor descriptor_;
  WriterPage* page_ = nullptr;
};

}  // namespace ulpscope::ring
