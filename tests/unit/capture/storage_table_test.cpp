#include "capture/storage_table.hpp"

#include <c10/core/CPUAllocator.h>
#include <doctest/doctest.h>

#include <memory_resource>
#include <utility>
#include <vector>

using namespace ulpscope;
using capture::RegionKey;
using capture::Storage;
using capture::StorageTable;

namespace {

using StoragePointer = c10::intrusive_ptr<c10::StorageImpl>;

StoragePointer new_storage() {
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), 64,
                                               c10::GetCPUAllocator(), /*resizable=*/true);
}

/// A table that has met many storages which all stay.
struct FullTable {
  StorageTable table{std::pmr::new_delete_resource()};
  std::vector<StoragePointer> stay;

  FullTable() { meet(2000); }

  void meet(int count) {
    for (int i = 0; i < count; ++i) table.at(*stay.emplace_back(new_storage()));
  }
};

/// Replaces a storage's memory by memory that lets the table know when it is freed.
class LetsGo {
 public:
  LetsGo(StorageTable& table, c10::StorageImpl& storage) : table_(table) {
    at::DataPtr memory = storage.set_data_ptr({nullptr, c10::DeviceType::CPU});
    memory_ = memory.get();
    own_ = std::move(memory);
    storage.set_data_ptr({memory_, this, &LetsGo::frees, c10::DeviceType::CPU});
  }

 private:
  static void frees(void* self) {
    auto& one = *static_cast<LetsGo*>(self);
    one.table_.let_go(one.memory_);
  }

  StorageTable& table_;
  at::DataPtr own_;
  void* memory_ = nullptr;
};

TEST_SUITE("storages that are known") {
  TEST_CASE("one is let go of while its memory is freed") {
    FullTable full;
    StoragePointer storage = new_storage();
    full.table.note_memory(full.table.at(*storage), *storage);
    const c10::weak_intrusive_ptr<c10::StorageImpl> observer(storage);
    const LetsGo lets_go(full.table, *storage);
    storage.reset();
    CHECK(observer.weak_use_count() == 1);
  }

  TEST_CASE("one that is given other memory stays") {
    FullTable full;
    const StoragePointer storage = new_storage();
    full.table.note_memory(full.table.at(*storage), *storage);
    full.table.at(*storage).name.id = 7;
    const LetsGo lets_go(full.table, *storage);
    storage->set_data_ptr(c10::GetCPUAllocator()->allocate(64));
    CHECK(full.table.at(*storage).name.id == 7);
  }

  TEST_CASE("memory that was freed before lets its own storage go, and only once that is gone") {
    FullTable full;
    StoragePointer storage = new_storage();
    const std::uint64_t id = full.table.at(*storage).id;
    const c10::weak_intrusive_ptr<c10::StorageImpl> observer(storage);
    const capture::FreedBlock block{.memory = storage->data(), .key = storage.get(), .storage = id};
    full.table.let_go(block);
    CHECK(full.table.at(*storage).id == id);
    storage.reset();
    full.table.let_go({.memory = block.memory, .key = block.key, .storage = id + 1});
    CHECK(observer.weak_use_count() == 2);
    full.table.let_go(block);
    CHECK(observer.weak_use_count() == 1);
  }

  TEST_CASE("one that was asked for of late is let go of soon after it is gone") {
    FullTable full;
    StoragePointer storage = new_storage();
    full.table.at(*storage);
    const c10::weak_intrusive_ptr<c10::StorageImpl> observer(storage);
    storage.reset();
    REQUIRE(observer.weak_use_count() == 2);
    full.meet(64);
    CHECK(observer.weak_use_count() == 1);
  }

  TEST_CASE("sooner where others are gone, too") {
    FullTable full;
    full.table.at(*new_storage());
    full.meet(64);
    StoragePointer storage = new_storage();
    full.table.at(*storage);
    const c10::weak_intrusive_ptr<c10::StorageImpl> observer(storage);
    storage.reset();
    full.meet(16);
    CHECK(observer.weak_use_count() == 1);
  }

  TEST_CASE("one that nobody asked for any more is let go of in the end") {
    FullTable full;
    const c10::weak_intrusive_ptr<c10::StorageImpl> observer(full.stay.front());
    full.stay.front().reset();
    full.meet(2500);
    CHECK(observer.weak_use_count() == 1);
  }

  TEST_CASE("one at an address that an earlier one had is another storage") {
    StorageTable table{std::pmr::new_delete_resource()};
    StoragePointer storage = new_storage();
    const std::uint64_t id = table.at(*storage).id;
    for (int i = 0; i < 200; ++i) {
      storage = new_storage();
      REQUIRE(table.at(*storage).id > id + static_cast<std::uint64_t>(i));
    }
  }

  TEST_CASE("those that stay keep what is known of them while others come and go") {
    FullTable full;
    for (std::size_t i = 0; i < full.stay.size(); ++i)
      full.table.at(*full.stay[i]).name.id = static_cast<std::uint32_t>(i);
    for (int i = 0; i < 5000; ++i) full.table.at(*new_storage());
    for (std::size_t i = 0; i < full.stay.size(); ++i)
      REQUIRE(full.table.at(*full.stay[i]).name.id == i);
  }
}

TEST_SUITE("meaningful bytes") {
  Storage storage_of(std::size_t bytes) {
    Storage storage(std::pmr::new_delete_resource());
    storage.bytes = bytes;
    return storage;
  }

  TEST_CASE("of a number in larger memory those that its op wrote") {
    Storage storage = storage_of(48);
    storage.mark_written(8, 12);
    CHECK(storage.meaningful() == RegionKey{8, 4, 0});
  }

  TEST_CASE("all between the first and the last that was written") {
    Storage storage = storage_of(48);
    storage.mark_written(8, 12);
    storage.mark_written(40, 48);
    storage.mark_written(20, 20);
    CHECK(storage.meaningful() == RegionKey{8, 40, 0});
  }

  TEST_CASE("of memory that others write, or that nothing has filled yet, all") {
    for (const auto change : {+[](Storage& storage) { storage.name.id = 1; },
                              +[](Storage& storage) { storage.foreign = true; },
                              +[](Storage& storage) { storage.mark_uninitialised(12, 48); }}) {
      Storage storage = storage_of(48);
      storage.mark_written(8, 12);
      change(storage);
      CHECK(storage.meaningful() == RegionKey{0, 48, 0});
    }
  }
}

TEST_SUITE("names of what shares a storage") {
  constexpr capture::Name kWeight{1, 0, 7};
  constexpr capture::Name kBias{2, 0, 7};
  constexpr RegionKey kFirst{0, 32, 0};
  constexpr RegionKey kSecond{32, 16, 0};

  TEST_CASE("each region has its own") {
    Storage storage(std::pmr::new_delete_resource());
    storage.give_name(kFirst, kWeight);
    storage.give_name(kSecond, kBias);
    CHECK(storage.name_of(kFirst).id == kWeight.id);
    CHECK(storage.name_of({8, 4, 0}).id == kWeight.id);
    CHECK(storage.name_of(kSecond).id == kBias.id);
  }

  TEST_CASE("all of it has none") {
    Storage storage(std::pmr::new_delete_resource());
    storage.give_name(kFirst, kWeight);
    storage.give_name(kSecond, kBias);
    CHECK(storage.name_of({0, 48, 0}).id == 0);
  }

  TEST_CASE("beside the only one that has a name there is none") {
    Storage storage(std::pmr::new_delete_resource());
    storage.give_name(kFirst, kWeight);
    CHECK(storage.name_of(kSecond).id == 0);
  }

  TEST_CASE("a single one is that of all that shares bytes with it") {
    Storage storage(std::pmr::new_delete_resource());
    storage.give_name(kFirst, kWeight);
    CHECK(storage.name_of({0, 48, 0}).id == kWeight.id);
  }

  TEST_CASE("a tensor that is named again in the same place has the new name alone") {
    Storage storage(std::pmr::new_delete_resource());
    storage.give_name(kFirst, kWeight);
    storage.give_name(kFirst, kBias);
    CHECK(storage.name_of(kFirst).id == kBias.id);
    CHECK(storage.parts.empty());
  }

  TEST_CASE("one that moves within the storage leaves its old place without a name") {
    Storage storage(std::pmr::new_delete_resource());
    storage.give_name(kFirst, kWeight);
    storage.give_name(kSecond, kBias);
    storage.give_name({8, 8, 0}, kWeight);
    CHECK(storage.name_of(kFirst).id == 0);
    CHECK(storage.name_of({8, 8, 0}).id == kWeight.id);
  }

  TEST_CASE("one that goes to another storage leaves the others' names") {
    StorageTable table{std::pmr::new_delete_resource()};
    const StoragePointer flat = new_storage();
    const StoragePointer other = new_storage();
    table.give_name(table.at(*flat), *flat, kFirst, kWeight);
    table.give_name(table.at(*flat), *flat, kSecond, kBias);
    table.move_name(*flat, kFirst, *other, kSecond);
    CHECK(table.at(*other).name_of(kSecond).id == kWeight.id);
    CHECK(table.at(*flat).name_of(kSecond).id == kBias.id);
  }
}

}  // namespace
