#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// The memory that a kernel sees, and what it must not do with it: reach beyond it, read what was
/// never written, or access what another thread writes without a barrier, an atomic operation or a
/// fence between the two (PTX ISA, "Memory Consistency Model").
namespace ulpscope::test::ptx {

inline constexpr unsigned kWarpThreads = 32;

/// Something that a kernel must not do.
struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// When a thread did something: after how many barriers and fences.
struct Moment {
  std::uint32_t launch = 0;  // 0: never
  std::uint32_t block = 0;
  std::uint32_t barriers = 0;
  std::uint32_t fences = 0;
  std::uint32_t warp_barriers = 0;
  std::uint16_t thread = 0;
  bool atomic = false;

  [[nodiscard]] unsigned warp() const { return thread / kWarpThreads; }
  [[nodiscard]] bool is_of(const Moment& other) const {
    return launch == other.launch && block == other.block && thread == other.thread;
  }
};

/// What a thread may rely on of other blocks.
class Known {
 public:
  [[nodiscard]] bool covers(const Moment& moment) const;
  void add(const Known& other);
  /// A fence of a thread covers what it has done itself, and what its block has done before the
  /// last barrier.
  void add_fence(const Moment& moment);

 private:
  std::map<std::uint32_t, std::uint32_t> barriers_;                          // of a block
  std::map<std::pair<std::uint32_t, std::uint16_t>, std::uint32_t> fences_;  // of a thread
};

enum class Access : std::uint8_t {
  read,
  read_constant,  ///< through the cache that no write reaches (`ld.global.nc`)
  write,
  atomic,
};

/// Which bytes of a piece of memory hold something.
class Initialised {
 public:
  explicit Initialised(std::size_t bytes) : bytes_(bytes) {}

  void set(std::size_t offset, std::size_t bytes);
  /// @throws Violation if a byte holds nothing whose bit of `used` is set; bits beyond it count.
  void check(std::size_t offset, std::size_t bytes, std::uint32_t used) const;

 private:
  std::vector<bool> bytes_;
};

/// Who has looked last at each few bytes of a region.
class Watch {
 public:
  Watch(std::size_t bytes, std::size_t bytes_of_cell);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// @throws Violation if another thread's access is not ordered before this one.
  void access(std::size_t offset, std::size_t bytes, Access access, const Moment& now,
              const Known& known);

 private:
  enum class Readers : std::uint8_t { one, of_a_warp, many };
  struct Cell {
    Moment written;
    Moment read;
    Readers readers;
  };

  static void read(Cell& cell, const Moment& now, const Known& known);
  static void write(Cell& cell, const Moment& now, const Known& known);

  std::size_t bytes_;
  std::size_t bytes_of_cell_;
  Cell* cells_;  // of all bytes; pages that are never touched take no memory
};

/// Memory that was allocated, by address.
class Memory {
 public:
  /// `initialised`: all of it may be read from the start. Other memory may be read where it has
  /// been written.
  void add(const void* begin, std::size_t bytes, bool initialised);
  void remove(const void* begin);
  /// The host has written there, by a copy or a fill.
  void set_initialised(const void* begin, std::size_t bytes);

  /// @throws Violation if it is outside, misaligned or uninitialized, or races with another thread.
  void access(std::uint64_t address, std::size_t bytes, std::uint32_t used_bytes, Access access,
              const Moment& now, const Known& known);

 private:
  struct Region {
    std::size_t bytes;
    std::optional<Initialised> initialised;  // none: all is
    std::unique_ptr<Watch> watch;
  };
  [[nodiscard]] std::pair<std::uint64_t, Region*> find(std::uint64_t address, std::size_t bytes);

  std::map<std::uint64_t, Region> regions_;
};

/// Memory that kernels may reach while it lives.
class Reachable {
 public:
  Reachable(Memory& memory, std::span<const std::byte> bytes, bool initialised = true)
      : memory_(memory), begin_(bytes.data()) {
    memory.add(begin_, bytes.size(), initialised);
  }
  ~Reachable() { memory_.remove(begin_); }
  Reachable(const Reachable&) = delete;
  Reachable& operator=(const Reachable&) = delete;

 private:
  Memory& memory_;
  const std::byte* begin_;
};

}  // namespace ulpscope::test::ptx
