#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <utility>
#include <vector>

namespace ulpscope::capture {

/// From addresses to values that stay where they are. Open addressing with linear probing; erasing
/// moves later keys of the same run back, so that no tombstones gather. The memory of erased values
/// is kept for later ones.
template <class Value>
class PointerMap {
 public:
  explicit PointerMap(std::pmr::memory_resource* memory)
      : memory_(memory), slots_(memory), free_(memory) {
    slots_.resize(1 << 12);
  }
  PointerMap(const PointerMap&) = delete;
  PointerMap& operator=(const PointerMap&) = delete;
  ~PointerMap() {
    const auto give_back = [this](void* place) {
      memory_->deallocate(place, sizeof(Value), alignof(Value));
    };
    for_each([&](Value& value) {
      value.~Value();
      give_back(&value);
    });
    for (void* place : free_) give_back(place);
  }

  [[nodiscard]] Value* find(const void* key) noexcept {
    for (std::size_t at = home(key); slots_[at].key != nullptr; at = next(at))
      if (slots_[at].key == key) return slots_[at].value;
    return nullptr;
  }

  /// The value of a new key, constructed from `arguments`.
  /// @pre find(key) is null.
  template <class... Arguments>
  Value& add(const void* key, Arguments&&... arguments) {
    if ((count_ + 1) * 2 > slots_.size()) grow();
    Value* value = new (room()) Value(std::forward<Arguments>(arguments)...);
    place({key, value});
    ++count_;
    return *value;
  }

  void erase(const void* key) {
    std::size_t hole = home(key);
    while (slots_[hole].key != key) {
      if (slots_[hole].key == nullptr) return;
      hole = next(hole);
    }
    slots_[hole].value->~Value();
    free_.push_back(slots_[hole].value);
    --count_;
    for (std::size_t at = next(hole); slots_[at].key != nullptr; at = next(at)) {
      const std::size_t distance_home = (at - home(slots_[at].key)) & mask();
      const std::size_t distance_hole = (at - hole) & mask();
      if (distance_home < distance_hole) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = {};
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (const Slot& slot : slots_)
      if (slot.key != nullptr) visit(*slot.value);
  }

 private:
  struct Slot {
    const void* key = nullptr;
    Value* value = nullptr;
  };

  [[nodiscard]] std::size_t mask() const noexcept { return slots_.size() - 1; }
  [[nodiscard]] std::size_t next(std::size_t at) const noexcept { return (at + 1) & mask(); }
  [[nodiscard]] std::size_t home(const void* key) const noexcept {
    return (reinterpret_cast<std::uintptr_t>(key) * 0x9e3779b97f4a7c15ULL >> 24) & mask();
  }

  [[nodiscard]] void* room() {
    if (free_.empty()) return memory_->allocate(sizeof(Value), alignof(Value));
    void* place = free_.back();
    free_.pop_back();
    return place;
  }

  void place(Slot slot) noexcept {
    std::size_t at = home(slot.key);
    while (slots_[at].key != nullptr) at = next(at);
    slots_[at] = slot;
  }

  void grow() {
    std::pmr::vector<Slot> old = std::move(slots_);
    slots_ = std::pmr::vector<Slot>(old.size() * 2, old.get_allocator());
    for (const Slot& slot : old)
      if (slot.key != nullptr) place(slot);
  }

  std::pmr::memory_resource* memory_;
  std::pmr::vector<Slot> slots_;
  std::pmr::vector<void*> free_;
  std::size_t count_ = 0;
};

}  // namespace ulpscope::capture
