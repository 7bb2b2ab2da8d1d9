#include "capture/demangled_names.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <string>

#include "capture/memory.hpp"

namespace ulpscope::capture {
namespace {

struct Demangled {
  Demangled(std::string_view from, std::string_view to)
      : mangled(from, &process_memory()), name(to, &process_memory()) {}
  std::pmr::string mangled;
  std::pmr::string name;
};

/// Names share a place if they must; the one that came first keeps it.
constexpr std::size_t kPlaces = 1 << 10;
constinit std::array<std::atomic<const Demangled*>, kPlaces> places{};

/// By the name's end and length: names of one namespace begin alike.
std::atomic<const Demangled*>& place_of(std::string_view mangled) noexcept {
  std::uint64_t end = 0;
  const std::size_t part = mangled.size() < sizeof end ? mangled.size() : sizeof end;
  std::memcpy(&end, mangled.data() + mangled.size() - part, part);
  const std::uint64_t hash = (end ^ mangled.size()) * 0x9e3779b97f4a7c15ULL;
  return places[hash >> 54];
}

}  // namespace

const char* known_demangled(std::string_view mangled) noexcept {
  const Demangled* const known = place_of(mangled).load(std::memory_order_acquire);
  return known != nullptr && known->mangled == mangled ? known->name.c_str() : nullptr;
}

void keep_demangled(std::string_view mangled, std::string_view name) {
  std::atomic<const Demangled*>& place = place_of(mangled);
  if (place.load(std::memory_order_relaxed) != nullptr) return;
  place.store(&immortal<Demangled>(mangled, name), std::memory_order_release);
}

}  // namespace ulpscope::capture
