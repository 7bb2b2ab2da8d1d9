#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "ring/descriptor.hpp"
#include "ring/layout.hpp"

/// The writer's side of the shared memory: makes what programs being recorded map.
namespace ulpscope::ring {

/// A new ring, its memory allocated for good (touching it never raises SIGBUS) and its size sealed.
/// @throws Error with ErrorCode::io, in particular when there is not enough memory.
[[nodiscard]] Descriptor create_ring(std::uint64_t capacity);

/// The writer's page, writable here, read-only for everyone who gets its descriptor. Marked as
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

/// A session's page as the writer sees it: what a program has left in it, which may be anything.
class SessionPageReader {
 public:
  SessionPageReader() noexcept = default;
  SessionPageReader(SessionPageReader&& other) noexcept;
  SessionPageReader& operator=(SessionPageReader&& other) noexcept;
  ~SessionPageReader();

  /// A new page; its descriptor is for the program. @throws Error with ErrorCode::io.
  [[nodiscard]] static std::pair<SessionPageReader, Descriptor> create();

  /// Why recording of the process ended before the process did; empty if it does not say.
  [[nodiscard]] std::string ended() const;
  /// Why a child of the process could not be recorded; empty if none failed.
  [[nodiscard]] std::string no_child() const;

 private:
  const SessionPage* page_ = nullptr;
};

}  // namespace ulpscope::ring
