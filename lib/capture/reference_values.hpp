#pragma once

#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory_resource>
#include <mutex>
#include <span>
#include <vector>

#include "capture/memory.hpp"
#include "ring/injection.hpp"
#include "ulpscope/run.hpp"

/// What the settings' file says of a reference run (ring/injection.hpp).
namespace ulpscope::capture {

/// Opened for each use: the program may close descriptors that it does not know.
class ValueFile {
 public:
  ValueFile();
  ValueFile(const ValueFile&) = delete;
  ValueFile& operator=(const ValueFile&) = delete;
  ~ValueFile();

  /// Fills pieces of memory one after the other. False where the file ends, or the program may not
  /// write there itself.
  [[nodiscard]] bool read(std::uint64_t offset, std::span<iovec> pieces) const;

 private:
  int descriptor_;
};

/// The tables of the file, and what was made of them.
struct Reference {
  std::mutex mutex;                          ///< for the lanes that are taken
  std::atomic<std::uint64_t> generation{0};  ///< of the recording that it was read for
  std::atomic<bool> ready{false};
  pid_t process = 0;                    ///< that is given values
  std::atomic<std::uint64_t> given{0};  ///< values
  std::atomic<std::uint64_t> ops{0};    ///< of the program
  std::atomic<std::uint64_t> found{0};  ///< those of them that have a call in the reference
  std::pmr::vector<ring::injection::Lane> lanes{&process_memory()};
  std::pmr::vector<bool> lanes_taken = std::pmr::vector<bool>(&process_memory());
  std::pmr::vector<ring::injection::Call> calls{&process_memory()};
  std::pmr::vector<ring::injection::Value> values{&process_memory()};
};

/// The process's.
[[nodiscard]] Reference& reference();

/// Whether this process is given values: the first that asks is. Reads the tables if it is.
[[nodiscard]] bool is_given_values() noexcept;

/// A tensor of a call; null if it has none that can be given.
[[nodiscard]] const ring::injection::Value* find_value(const ring::injection::Call& call, Role role,
                                                       std::uint16_t index, std::uint16_t element);

[[nodiscard]] inline bool has_digest(const ring::injection::Value& value,
                                     const Digest& digest) noexcept {
  return value.digest[0] == digest.high && value.digest[1] == digest.low;
}

}  // namespace ulpscope::capture
