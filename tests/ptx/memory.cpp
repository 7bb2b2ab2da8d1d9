#include "tests/ptx/memory.hpp"

#include <sys/mman.h>

#include <algorithm>

namespace ulpscope::test::ptx {
namespace {

bool ordered_by_block_barrier(const Moment& earlier, const Moment& now, const Known& known) {
  if (earlier.launch != now.launch) return true;
  if (earlier.block != now.block) return known.covers(earlier);
  return earlier.barriers < now.barriers;
}

bool ordered_by_barrier(const Moment& earlier, const Moment& now, const Known& known) {
  return ordered_by_block_barrier(earlier, now, known) ||
         (earlier.block == now.block && earlier.warp() == now.warp() &&
          earlier.warp_barriers < now.warp_barriers);
}

bool is_before(const Moment& earlier, const Moment& now, const Known& known) {
  return earlier.is_of(now) || ordered_by_barrier(earlier, now, known);
}

std::string describe(const Moment& moment) {
  return "thread " + std::to_string(moment.thread) + " of block " + std::to_string(moment.block);
}

}  // namespace

bool Known::covers(const Moment& moment) const {
  if (const auto block = barriers_.find(moment.block);
      block != barriers_.end() && moment.barriers < block->second)
    return true;
  const auto thread = fences_.find({moment.block, moment.thread});
  return thread != fences_.end() && moment.fences < thread->second;
}

void Known::add(const Known& other) {
  const auto raise = [](auto& to, const auto& from) {
    for (const auto& [key, number] : from) {
      auto& known = to[key];
      known = std::max(known, number);
    }
  };
  raise(barriers_, other.barriers_);
  raise(fences_, other.fences_);
}

void Known::add_fence(const Moment& moment) {
  auto& barriers = barriers_[moment.block];
  barriers = std::max(barriers, moment.barriers);
  auto& fences = fences_[{moment.block, moment.thread}];
  fences = std::max(fences, moment.fences + 1);
}

void Initialised::set(std::size_t offset, std::size_t bytes) {
  std::fill_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), bytes, true);
}

void Initialised::check(std::size_t offset, std::size_t bytes, std::uint32_t used) const {
  for (std::size_t i = 0; i < bytes; ++i)
    if (!bytes_[offset + i] && (i >= 32 || (used >> i & 1) != 0))
      throw Violation("reads what nobody has written");
}

Watch::Watch(std::size_t bytes, std::size_t bytes_of_cell)
    : bytes_((bytes / bytes_of_cell + 1) * sizeof(Cell)), bytes_of_cell_(bytes_of_cell) {
  void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  cells_ = static_cast<Cell*>(memory);
}

Watch::~Watch() { ::munmap(cells_, bytes_); }

void Watch::access(std::size_t offset, std::size_t bytes, Access access, const Moment& now,
                   const Known& known) {
  const std::size_t last = (offset + bytes - 1) / bytes_of_cell_;
  for (std::size_t i = offset / bytes_of_cell_; i <= last; ++i) {
    if (access == Access::read_constant && cells_[i].written.launch == now.launch)
      throw Violation("reads through the constant cache what " + describe(cells_[i].written) +
                      " of the same launch has written");
    if (access == Access::read || access == Access::read_constant)
      read(cells_[i], now, known);
    else
      write(cells_[i], now, known);
  }
}

void Watch::read(Cell& cell, const Moment& now, const Known& known) {
  if (!is_before(cell.written, now, known))
    throw Violation("reads what " + describe(cell.written) + " writes, in no order");
  if (ordered_by_block_barrier(cell.read, now, known) ||
      (cell.readers == Readers::of_a_warp && ordered_by_barrier(cell.read, now, known)))
    cell.readers = Readers::one;
  else if (!is_before(cell.read, now, known))
    cell.readers = cell.read.block == now.block && cell.read.warp() == now.warp() &&
                           cell.readers != Readers::many
                       ? Readers::of_a_warp
                       : Readers::many;
  cell.read = now;
}

void Watch::write(Cell& cell, const Moment& now, const Known& known) {
  const bool both_atomic = cell.written.atomic && now.atomic;
  if (!both_atomic && !is_before(cell.written, now, known))
    throw Violation("writes what " + describe(cell.written) + " writes, in no order");
  const bool after_reads = cell.readers == Readers::one ? is_before(cell.read, now, known)
                           : cell.readers == Readers::of_a_warp
                               ? ordered_by_barrier(cell.read, now, known)
                               : ordered_by_block_barrier(cell.read, now, known);
  if (!after_reads) throw Violation("writes what " + describe(cell.read) + " reads, in no order");
  cell.written = now;
}

void Memory::add(const void* begin, std::size_t bytes, bool initialised) {
  Region region{bytes, {}, std::make_unique<Watch>(bytes, 4)};
  if (!initialised) region.initialised.emplace(bytes);
  regions_.insert_or_assign(reinterpret_cast<std::uint64_t>(begin), std::move(region));
}

void Memory::remove(const void* begin) { regions_.erase(reinterpret_cast<std::uint64_t>(begin)); }

void Memory::set_initialised(const void* begin, std::size_t bytes) {
  const auto [offset, region] = find(reinterpret_cast<std::uint64_t>(begin), bytes);
  if (region != nullptr && region->initialised) region->initialised->set(offset, bytes);
}

void Memory::access(std::uint64_t address, std::size_t bytes, std::uint32_t used_bytes,
                    Access access, const Moment& now, const Known& known) {
  if (address % bytes != 0) throw Violation("misaligned access");
  const auto [offset, region] = find(address, bytes);
  if (region == nullptr) throw Violation("access outside of what was allocated");
  region->watch->access(offset, bytes, access, now, known);
  if (!region->initialised) return;
  if (access == Access::write)
    region->initialised->set(offset, bytes);
  else
    region->initialised->check(offset, bytes, used_bytes);
}

std::pair<std::uint64_t, Memory::Region*> Memory::find(std::uint64_t address, std::size_t bytes) {
  auto after = regions_.upper_bound(address);
  if (after == regions_.begin()) return {0, nullptr};
  auto& [begin, region] = *std::prev(after);
  const std::uint64_t offset = address - begin;
  if (offset > region.bytes || bytes > region.bytes - offset) return {0, nullptr};
  return {offset, &region};
}

}  // namespace ulpscope::test::ptx
