#include "capture/object_numbers.hpp"

#include <memory_resource>
#include <mutex>
#include <unordered_map>

#include "capture/memory.hpp"

namespace ulpscope::capture {

std::uint64_t object_number(const void* object) {
  static std::mutex& guarding = immortal<std::mutex>();
  static auto& numbers =
      immortal<std::pmr::unordered_map<const void*, std::uint64_t>>(&process_memory());
  const std::lock_guard guard(guarding);
  return numbers.try_emplace(object, numbers.size() + 1).first->second;
}

}  // namespace ulpscope::capture
