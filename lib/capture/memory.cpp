#include "capture/memory.hpp"

#include <sys/mman.h>

#include <new>

namespace ulpscope::capture {
namespace {

// A pool allocates chunks of a few kilobytes at first; every mapping costs at least a page.
constexpr std::size_t kSmallestMapping = 1 << 16;

std::size_t mapping_size(std::size_t bytes) noexcept {
  return (bytes + kSmallestMapping - 1) & ~(kSmallestMapping - 1);
}

}  // namespace

void* MappedMemory::do_allocate(std::size_t bytes, std::size_t alignment) {
  void* memory = alignment > 4096 ? MAP_FAILED
                                  : mmap(nullptr, mapping_size(bytes), PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

void MappedMemory::do_deallocate(void* memory, std::size_t bytes, std::size_t /*alignment*/) {
  munmap(memory, mapping_size(bytes));
}

void* ProcessMemory::do_allocate(std::size_t bytes, std::size_t alignment) {
  const std::lock_guard guard(mutex_);
  return pool_.allocate(bytes, alignment);
}

void ProcessMemory::do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) {
  const std::lock_guard guard(mutex_);
  pool_.deallocate(memory, bytes, alignment);
}

ProcessMemory& process_memory() noexcept {
  alignas(ProcessMemory) static std::byte memory[sizeof(ProcessMemory)];
  static ProcessMemory* resource = new (memory) ProcessMemory;
  return *resource;
}

}  // namespace ulpscope::capture
