#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dump/files.hpp"

namespace ulpscope::dump {

/// Writes pieces of a file with few system calls: small ones that follow each other are gathered
/// in a buffer that stays in the processor's cache, large ones go straight from where they are.
class ContentFile {
 public:
  explicit ContentFile(File file);

  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  /// What was written, flushed or not.
  void read(std::uint64_t offset, std::span<std::byte> bytes);
  /// Up to here written bytes may still be in the buffer.
  void flush();
  /// Writes the buffer and checks whether everything has arrived; truncates what was written from
  /// `end` on. Nothing may follow.
  void close(std::uint64_t end);

 private:
  File file_;
  std::vector<std::byte> gathered_;
  std::uint64_t gathered_at_ = 0;
};

}  // namespace ulpscope::dump
