#pragma once

#include <atomic>
#include <cstddef>
#include <memory_resource>
#include <utility>

#include "capture/mutex.hpp"

namespace ulpscope::capture {

/// Memory straight from the kernel, so that the recorded program's allocator sees no request of
/// ours and returns the addresses it would return without Ulpscope.
class MappedMemory final : public std::pmr::memory_resource {
 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }
};

/// A pool over MappedMemory for what lives as long as the process. Thread-safe; its lock is ours,
/// so that fork() can hold it.
class ProcessMemory final : public std::pmr::memory_resource {
 public:
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  MappedMemory mapped_;
  std::pmr::unsynchronized_pool_resource pool_{&mapped_};
  Mutex mutex_;
};

/// Never destroyed: ops may run in static destructors.
[[nodiscard]] ProcessMemory& process_memory() noexcept;

/// Constructs an object that is never destroyed in process_memory().
template <class T, class... Arguments>
[[nodiscard]] T& immortal(Arguments&&... arguments) {
  void* memory = process_memory().allocate(sizeof(T), alignof(T));
  return *new (memory) T(std::forward<Arguments>(arguments)...);
}

/// The process's only T, made at its first use and never destroyed. Hooks look it up many times for
/// an event: once it is made, that takes no call.
template <class T>
class ProcessWide {
 public:
  [[nodiscard]] T& get() {
    T* const known = made_.load(std::memory_order_acquire);
    return known != nullptr ? *known : make();
  }

 private:
  [[gnu::noinline]] T& make() {
    static T& instance = immortal<T>();
    made_.store(&instance, std::memory_order_release);
    return instance;
  }

  std::atomic<T*> made_{nullptr};
};

}  // namespace ulpscope::capture
