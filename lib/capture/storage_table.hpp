#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory_resource>
#include <utility>
#include <vector>

#include "capture/memory.hpp"
#include "capture/mutex.hpp"
#include "capture/pointer_map.hpp"
#include "ring/message.hpp"
#include "ulpscope/digest.hpp"

namespace ulpscope::capture {

/// Which bytes of a storage a tensor covers, and in which pattern.
struct RegionKey {
  std::size_t offset = 0;     ///< bytes from the storage's start
  std::size_t bytes = 0;      ///< up to the end of the last element
  std::uint64_t pattern = 0;  ///< 0: dense; else a hash of the gaps, of conj and neg

  friend bool operator==(const RegionKey&, const RegionKey&) = default;
  [[nodiscard]] bool overlaps(const RegionKey& other) const noexcept {
    return offset < other.offset + other.bytes && other.offset < offset + bytes;
  }
  /// Whether it holds all of the other one's bytes.
  [[nodiscard]] bool covers(const RegionKey& other) const noexcept {
    return *this == other ||
           (pattern == 0 && offset <= other.offset && other.offset + other.bytes <= offset + bytes);
  }
};

/// Who wrote a region last, according to recorded ops.
struct Writer {
  std::uint64_t position = ring::kNone;
  std::uint32_t lane = 0;
  std::uint64_t moment = 0;  ///< of its thread's clock, see Thread::moment
};

/// What is known about the bytes of a region.
struct Region {
  RegionKey key;
  Digest digest{};
  Digest logical{};           ///< zero if memory order and logical order are the same
  std::uint64_t ticket = 0;   ///< not 0: takes the place of both, which a device is still computing
  std::uint64_t value = 0;    ///< equal numbers: the same bytes by construction
  std::uint64_t checked = 0;  ///< the epoch in which the bytes were last seen to have this digest
  std::uint32_t writes = 0;   ///< of the storage, when this region was written
  bool no_content = false;    ///< its bytes were not sent, though the level requires them
  Writer writer;
};

/// What a parameter, buffer or gradient is called.
struct Name {
  std::uint32_t id = 0;      ///< process-wide; 0: it has no name
  std::uint32_t flags = 0;   ///< slot_flag::parameter, buffer or gradient
  std::uint32_t module = 0;  ///< that owns it, see module_names.hpp
};

/// One of the parameters, buffers or gradients that share a storage, as those of a flattened RNN
/// do.
struct NamedPart {
  RegionKey region;
  Name name;
};

/// The regions of a storage that are known; nearly always one or two, which need no extra memory.
class Regions {
 public:
  explicit Regions(std::pmr::memory_resource* memory) : more_(memory) {}

  [[nodiscard]] Region* find(const RegionKey& key) noexcept;
  /// Drops what is known of bytes that a region overlaps.
  void forget(const RegionKey& overlapping);
  Region& remember(const Region& region);
  void forget_writers() noexcept;
  void clear() noexcept {
    inline_count_ = 0;
    more_.clear();
  }

 private:
  std::array<Region, 2> inline_;
  std::size_t inline_count_ = 0;
  std::pmr::vector<Region> more_;
};

/// One StorageImpl. Its address identifies it as long as `alive` is held weakly: the memory is
/// freed as it would be without Ulpscope, but the address is not reused for a different
/// StorageImpl.
struct Storage {
  explicit Storage(std::pmr::memory_resource* memory)
      : parts(memory), uninitialised(memory), regions(memory) {}

  c10::weak_intrusive_ptr<c10::StorageImpl> alive{c10::intrusive_ptr<c10::StorageImpl>()};
  const void* data = nullptr;
  std::size_t bytes = 0;
  std::uint64_t id = 0;
  std::size_t place = 0;  ///< in the table's list
  std::uint32_t writes = 0;
  bool produced = false;        ///< a recorded op made or wrote it
  bool scratch = false;         ///< an op's working memory: its bytes mean nothing to others
  bool has_gaps = false;        ///< between bytes that mean something are others that do not
  bool of_backend = false;      ///< made by a collective for its own use
  bool handle = false;          ///< its bytes are a pointer
  std::int8_t dtype = 0;        ///< c10::ScalarType of the tensor that was seen last
  std::uint64_t arrives = 0;    ///< the epoch in which its bytes may still be on their way
  bool foreign = false;         ///< memory that the allocator did not return (from_blob)
  bool given = false;           ///< code that is no op filled it and gave it to a tensor (`set_`)
  Writer writer;                ///< of any part
  Name name;                    ///< the last that it was given; see name_of()
  RegionKey named;              ///< the region that this name is for
  bool is_named_whole = false;  ///< the name is for all of it
  std::pmr::vector<NamedPart> parts;  ///< all names, if there are several
  bool watched = false;               ///< StorageTable::watch()
  bool noted = false;                 ///< StorageTable::noted_at() may find it
  bool unread = false;                ///< no op has used what was written last
  bool optimizer_state = false;       ///< an optimizer keeps it from step to step
  bool leaf_gradient = false;         ///< of a leaf without a name
  std::pmr::vector<std::pair<std::size_t, std::size_t>>
      uninitialised;            ///< byte ranges [begin, end)
  bool filled_in_part = false;  ///< ops have perhaps filled all of these since
  /// All that recorded ops have written lies in these bytes; nothing has been written if they are
  /// none.
  std::pair<std::size_t, std::size_t> written{0, 0};
  Regions regions;

  /// Of a region: that of the smallest named part that covers it. A single name is that of all
  /// regions that share bytes with it.
  [[nodiscard]] const Name& name_of(const RegionKey& key) const noexcept {
    if (name.id == 0 || is_named_whole) return name;
    return name_of_part(key);
  }
  void give_name(const RegionKey& key, const Name& called);
  void take_name(const RegionKey& key);

  [[nodiscard]] const Name& name_of_part(const RegionKey& key) const noexcept;

  [[nodiscard]] bool touches_uninitialised(const RegionKey& key) const noexcept;
  /// Nothing has written a byte of it.
  [[nodiscard]] bool is_uninitialised(const RegionKey& key) const noexcept;
  void mark_uninitialised(std::size_t begin, std::size_t end);
  /// @param keeps_rest not each of these bytes: which ones are uninitialized is as before
  void mark_written(std::size_t begin, std::size_t end, bool keeps_rest = false);
  /// The bytes that mean something: those that ops have written, where others than ops write none.
  [[nodiscard]] RegionKey meaningful() const noexcept;
};

/// Memory that the program freed, as it was then.
struct FreedState {
  Digest digest;
  std::uint64_t storage = 0;
  std::size_t offset = 0;   ///< of its meaningful bytes from the start of the storage
  std::size_t bytes = 0;    ///< how many those are
  bool unproduced = false;  ///< code that is no op filled it, and no op is known to have read it
  Digest known;  ///< what recorded ops had left there; zero if that is not known of all of it
  Writer writer;
  std::uint32_t writes = 0;
  std::uint32_t name = 0;
  std::uint32_t name_flags = 0;
  std::uint32_t module = 0;
  std::int8_t dtype = 0;
};

/// Memory that the program has freed, and what is known of it.
struct FreedBlock {
  const void* memory = nullptr;
  const c10::StorageImpl* key = nullptr;  ///< null: nothing is
  std::uint64_t storage = 0;              ///< its id
  bool verified = false;                  ///< it held what recorded ops have left there
};

/// The storages that recorded ops have met. Every use of a Storage holds the table's lock.
class StorageTable {
 public:
  /// The entry of a live storage, added when it is new. Storages whose memory moved or changed size
  /// outside the dispatcher start over.
  Storage& at(const c10::StorageImpl& storage);

  /// Notifies the storages that share memory with `storage` that a range of it was written.
  void write_through(const Storage& storage, const RegionKey& key);

  /// Drops what is known of bytes and writers; names and numbers stay.
  void forget();
  /// This process has been forked: drops who wrote what, which are events of the other one.
  void forget_writers();

  /// The memory is that of a parameter, a buffer or a gradient.
  void give_name(Storage& entry, const c10::StorageImpl& storage, const RegionKey& key,
                 const Name& name);
  /// A region loses its name, which is returned.
  Name take_name(const c10::StorageImpl& storage, const RegionKey& region);
  /// The name of a region, if any, goes to one of another storage.
  void move_name(const c10::StorageImpl& from, const RegionKey& region, const c10::StorageImpl& to,
                 const RegionKey& target);
  /// What is in the memory when the program frees it is an outcome. Named memory is watched, too.
  void watch(Storage& entry, const c10::StorageImpl& storage);
  /// An op has written it, and none has used that yet.
  void mark_unread(Storage& entry, const c10::StorageImpl& storage) {
    entry.unread = true;
    note_memory(entry, storage);
  }
  /// Memory that has a name has been given another one's.
  [[nodiscard]] bool names_collided() const noexcept { return names_collided_; }
  /// Of all memory that an op of the program has used, so that its entry is found when it is freed.
  void note_memory(Storage& entry, const c10::StorageImpl& storage) {
    if (!entry.noted && !entry.foreign && storage.device_type() == c10::DeviceType::CPU)
      add_memory(entry, storage);
  }
  /// An entry that is found by its memory.
  struct Noted {
    const c10::StorageImpl* key = nullptr;
    Storage* entry = nullptr;

    /// What the memory holds when it is freed may be an outcome: it is watched, no op has used it
    /// since one wrote it, or the program may have written to it past LibTorch, as NumPy does.
    [[nodiscard]] bool may_matter() const noexcept;
  };
  /// The entry of the memory that begins at `data`; null if note_memory() has not seen it.
  [[nodiscard]] Noted noted_at(const void* data);
  /// The memory that begins at `data` was freed: what begins there from now on is different memory.
  void forget_noted(const void* data);
  /// Freed memory is no outcome of the run any more: nothing that is known of it matters. What
  /// LibTorch has left of its storage goes, too, as if nobody had known it.
  void let_go(const FreedBlock& block);
  /// The same of memory that begins at `data` and is just being freed.
  void let_go(const void* data);
  /// False where noted_at() surely finds nothing. Takes no lock.
  [[nodiscard]] bool may_be_noted(const void* data) const noexcept {
    const std::size_t bit = hash_of(data) % kFilterBits;
    return ((noted_filter_[bit / 64].load(std::memory_order_relaxed) >> (bit % 64)) & 1) != 0;
  }
  /// It was there when this process was forked, and no op of this process has written it.
  [[nodiscard]] bool is_inherited(const Storage& entry) const noexcept {
    return entry.id < first_own_id_ && entry.writer.position == ring::kNone;
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    entries_.for_each(visit);
  }

  /// Ids of storages made from now on are at least this.
  [[nodiscard]] std::uint64_t next_id() const noexcept { return next_id_; }
  [[nodiscard]] std::uint64_t next_value() noexcept { return ++next_value_; }

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  /// Removes a few entries whose storage is gone and was not let go of; called once per addition,
  /// it keeps up with them: as long as it finds some it looks at more. What is left of a storage is
  /// a small block of the program's heap between large ones and keeps those from merging: the
  /// longer it stays, the larger the program's heap becomes.
  void purge_some();
  bool remove_if_gone(const c10::StorageImpl* key);
  void note_request(const c10::StorageImpl* key) noexcept;
  void remove(const c10::StorageImpl* key);
  void start(Storage& entry, const c10::StorageImpl& storage);
  static void written_behind(Storage& other, const Storage& storage, const RegionKey& key);

  void add_memory(Storage& entry, const c10::StorageImpl& storage);

  static constexpr std::size_t kFilterBits = std::size_t{1} << 18;
  [[nodiscard]] static std::size_t hash_of(const void* data) noexcept {
    return reinterpret_cast<std::uintptr_t>(data) * 0x9e3779b97f4a7c15ULL >> 40;
  }

  Mutex mutex_;
  PointerMap<Storage> entries_;
  PointerMap<const c10::StorageImpl*> noted_;  ///< by their memory
  std::array<std::atomic<std::uint64_t>, kFilterBits / 64> noted_filter_{};
  const c10::StorageImpl* last_key_ = nullptr;  ///< consecutive questions are about one storage
  Storage* last_ = nullptr;
  std::pmr::vector<const c10::StorageImpl*> sweep_;
  std::size_t sweep_at_ = 0;
  std::array<const c10::StorageImpl*, 64> recent_{};  ///< recently requested ones first
  std::size_t recent_end_ = 0;
  std::size_t recent_at_ = 0;
  std::size_t effort_ = 0;                             ///< of the next purge_some()
  std::pmr::vector<const c10::StorageImpl*> foreign_;  ///< entries over foreign memory
  std::uint64_t next_id_ = 0;
  std::uint64_t first_own_id_ = 0;
  std::uint64_t next_value_ = 0;
  bool names_collided_ = false;

 public:
  explicit StorageTable(std::pmr::memory_resource* memory = &process_memory())
      : entries_(memory), noted_(memory), sweep_(memory), foreign_(memory) {}
};

namespace detail {
extern ProcessWide<StorageTable> storage_table;
}

/// The process's.
[[nodiscard]] inline StorageTable& storages() { return detail::storage_table.get(); }

}  // namespace ulpscope::capture
