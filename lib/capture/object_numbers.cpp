#include "capture/object_numbers.hpp"

#include <memory_resource>
#include <mutex>
#include <unordered_map>

#include "capture/memory.hpp"

namespace ulpscope::capture {

namespace {

struct Objects {
  std::mutex mutex;
  std::pmr::unordered_map<const void*, std::uint64_t> numbers{&process_memory()};
  std::uint64_t latest = 0;
};

Objects& objects() {
  static Objects& instance = immortal<Objects>();
  return instance;
}

}  // namespace

std::uint64_t object_number(const void* object) {
  Objects& all = objects();
  const std::lock_guard guard(all.mutex);
  const auto [known, is_new] = all.numbers.try_emplace(object, all.latest + 1);
  if (is_new) ++all.latest;
  return known->second;
}

std::uint64_t new_object_number() {
  Objects& all = objects();
  const std::lock_guard guard(all.mutex);
  return ++all.latest;
}

void object_begins(const void* object) {
  Objects& all = objects();
  const std::lock_guard guard(all.mutex);
  all.numbers.erase(object);
}

void lock_object_numbers() { objects().mutex.lock(); }
void unlock_object_numbers() { objects().mutex.unlock(); }

}  // namespace ulpscope::capture
