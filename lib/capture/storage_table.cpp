#include "capture/storage_table.hpp"

#include <algorithm>

#include "capture/memory.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::capture {
namespace {

// A storage read through many different slices keeps what it knows about the latest ones.
constexpr std::size_t kMostRegions = 32;
constexpr std::size_t kMostRanges = 4096;
// Entries that an addition looks at, of those that were asked for of late and of all: of these more
// than one, or the end of a table that grows would not be reached.
constexpr std::size_t kMostEffort = 8;
constexpr std::size_t kMostSwept = 3;
// After so many additions that found nothing they look at one less.
constexpr std::size_t kIdleAdditions = 16;

bool is_foreign(const c10::StorageImpl& storage) {
  const at::DataPtr& data = storage.data_ptr();
  return data.get() != nullptr && data.get_context() != data.get();
}

bool share_memory(const Storage& a, const Storage& b) {
  const auto* a_begin = static_cast<const std::byte*>(a.data);
  const auto* b_begin = static_cast<const std::byte*>(b.data);
  return a_begin < b_begin + b.bytes && b_begin < a_begin + a.bytes;
}

/// Of a storage that is held weakly.
bool is_gone(const c10::StorageImpl& storage) {
  auto& target = const_cast<c10::StorageImpl&>(storage);
  return c10::raw::weak_intrusive_ptr::use_count(&target) == 0;
}

}  // namespace

Region* Regions::find(const RegionKey& key) noexcept {
  for (std::size_t i = 0; i < inline_count_; ++i)
    if (inline_[i].key == key) return &inline_[i];
  for (Region& region : more_)
    if (region.key == key) return &region;
  return nullptr;
}

void Regions::forget(const RegionKey& overlapping) {
  for (std::size_t i = inline_count_; i-- > 0;)
    if (inline_[i].key.overlaps(overlapping)) inline_[i] = inline_[--inline_count_];
  if (!more_.empty())
    std::erase_if(more_, [&](const Region& region) { return region.key.overlaps(overlapping); });
}

Region& Regions::remember(const Region& region) {
  if (Region* known = find(region.key)) return *known = region;
  if (inline_count_ < inline_.size()) return inline_[inline_count_++] = region;
  if (more_.size() >= kMostRegions) more_.erase(more_.begin());
  return more_.emplace_back(region);
}

void Regions::forget_writers() noexcept {
  for (Region& region : inline_) region.writer = {};
  for (Region& region : more_) region.writer = {};
}

bool Storage::touches_uninitialised(const RegionKey& key) const noexcept {
  return std::any_of(uninitialised.begin(), uninitialised.end(), [&](const auto& range) {
    return range.first < key.offset + key.bytes && key.offset < range.second;
  });
}

bool Storage::is_uninitialised(const RegionKey& key) const noexcept {
  return std::any_of(uninitialised.begin(), uninitialised.end(), [&](const auto& range) {
    return range.first <= key.offset && key.offset + key.bytes <= range.second;
  });
}

void Storage::mark_uninitialised(std::size_t begin, std::size_t end) {
  if (begin < end) uninitialised.emplace_back(begin, end);
}

void Storage::mark_written(std::size_t begin, std::size_t end, bool keeps_rest) {
  if (begin >= end) return;
  written = written.first == written.second
                ? std::pair(begin, end)
                : std::pair(std::min(written.first, begin), std::max(written.second, end));
  filled_in_part = filled_in_part || keeps_rest;
  if (keeps_rest) return;
  for (std::size_t i = 0; i < uninitialised.size();) {
    auto& range = uninitialised[i];
    if (range.second <= begin || end <= range.first) {
      ++i;
      continue;
    }
    const auto [old_begin, old_end] = range;
    if (begin <= old_begin && old_end <= end) {
      range = uninitialised.back();
      uninitialised.pop_back();
      continue;
    }
    range = old_begin < begin ? std::pair(old_begin, begin) : std::pair(end, old_end);
    if (old_begin < begin && end < old_end && uninitialised.size() < kMostRanges)
      uninitialised.emplace_back(end, old_end);
    ++i;
  }
}

RegionKey Storage::meaningful() const noexcept {
  const bool by_ops_alone = name.id == 0 && !foreign && !given && uninitialised.empty();
  if (!by_ops_alone || written.first >= written.second) return {0, bytes, 0};
  return {written.first, written.second - written.first, 0};
}

Storage& StorageTable::at(const c10::StorageImpl& storage) {
  Storage* known = last_key_ == &storage ? last_ : entries_.find(&storage);
  if (known == nullptr) {
    purge_some();
    known = &entries_.add(&storage, &process_memory());
    start(*known, storage);
    known->place = sweep_.size();
    sweep_.push_back(&storage);
  }
  if (last_key_ != &storage) note_request(&storage);
  last_key_ = &storage;
  last_ = known;
  Storage& entry = *known;
  if (entry.data != storage.data() || entry.bytes != storage.nbytes()) {
    const Name name = entry.name;
    const RegionKey named = entry.named;
    const std::pmr::vector<NamedPart> parts(std::move(entry.parts));
    const bool watched = entry.watched;
    const bool optimizer_state = entry.optimizer_state;
    start(entry, storage);
    entry.name = name;
    entry.named = named;
    entry.parts = parts;
    entry.optimizer_state = optimizer_state;
    if (watched) watch(entry, storage);
  }
  return entry;
}

void StorageTable::forget() {
  entries_.for_each([](Storage& entry) {
    entry.writes = 0;
    entry.produced = false;
    entry.scratch = false;
    entry.has_gaps = false;
    entry.unread = false;
    entry.arrives = 0;
    entry.writer = {};
    entry.uninitialised.clear();
    entry.filled_in_part = false;
    entry.written = {0, 0};
    entry.regions.clear();
  });
}

void StorageTable::forget_writers() {
  entries_.for_each([](Storage& entry) {
    entry.writer = {};
    entry.regions.forget_writers();
  });
  first_own_id_ = next_id_;
}

const Name& Storage::name_of_part(const RegionKey& key) const noexcept {
  static constexpr Name kNone;
  if (parts.empty()) return named.bytes == 0 || named.overlaps(key) ? name : kNone;
  const NamedPart* best = nullptr;
  for (const NamedPart& part : parts)
    if (part.region.covers(key) && (best == nullptr || part.region.bytes < best->region.bytes))
      best = &part;
  return best == nullptr ? kNone : best->name;
}

void Storage::give_name(const RegionKey& key, const Name& called) {
  const auto is_replaced = [&](const RegionKey& region, const Name& known) {
    return region == key || (known.id == called.id && known.module == called.module);
  };
  const bool is_first = parts.empty() && (name.id == 0 || is_replaced(named, name));
  if (!is_first) {
    if (parts.empty()) parts.push_back({named, name});
    std::erase_if(parts,
                  [&](const NamedPart& part) { return is_replaced(part.region, part.name); });
    parts.push_back({key, called});
  }
  name = called;
  named = key;
  is_named_whole = parts.empty() && key.offset == 0 && bytes > 0 && key.bytes == bytes;
}

void Storage::take_name(const RegionKey& key) {
  std::erase_if(parts, [&](const NamedPart& part) { return part.region == key; });
  name = parts.empty() ? Name{} : parts.back().name;
  named = parts.empty() ? RegionKey{} : parts.back().region;
  if (parts.size() == 1) parts.clear();
  is_named_whole = false;
}

void StorageTable::give_name(Storage& entry, const c10::StorageImpl& storage, const RegionKey& key,
                             const Name& name) {
  entry.give_name(key, name);
  watch(entry, storage);
}

Name StorageTable::take_name(const c10::StorageImpl& storage, const RegionKey& region) {
  Storage& entry = at(storage);
  const Name name = entry.name_of(region);
  if (name.id == 0) return name;
  entry.take_name(region);
  if (entry.name.id == 0) {
    entry.watched = false;
    entry.noted = false;
    forget_noted(entry.data);
  }
  return name;
}

void StorageTable::move_name(const c10::StorageImpl& from, const RegionKey& region,
                             const c10::StorageImpl& to, const RegionKey& target) {
  const Name name = take_name(from, region);
  if (name.id == 0) return;
  Storage& entry = at(to);
  names_collided_ = names_collided_ || entry.name_of(target).id != 0;
  give_name(entry, to, target, name);
}

void StorageTable::watch(Storage& entry, const c10::StorageImpl& storage) {
  entry.watched = true;
  add_memory(entry, storage);
}

void StorageTable::add_memory(Storage& entry, const c10::StorageImpl& storage) {
  entry.noted = true;
  if (entry.data == nullptr) return;
  if (const c10::StorageImpl** known = noted_.find(entry.data))
    *known = &storage;
  else
    noted_.add(entry.data, &storage);
  const std::size_t bit = hash_of(entry.data) % kFilterBits;
  noted_filter_[bit / 64].fetch_or(std::uint64_t{1} << (bit % 64), std::memory_order_relaxed);
}

bool StorageTable::Noted::may_matter() const noexcept {
  // NumPy has a view of what is not resizable (torch/csrc/utils/tensor_numpy.cpp).
  return entry != nullptr && (entry->watched || entry->unread || !key->resizable());
}

StorageTable::Noted StorageTable::noted_at(const void* data) {
  const c10::StorageImpl** const known = noted_.find(data);
  if (known == nullptr) return {};
  Storage* const entry = entries_.find(*known);  // which keeps the StorageImpl in memory
  if (entry == nullptr || entry->data != data) return {};
  return {*known, entry};
}

void StorageTable::forget_noted(const void* data) { noted_.erase(data); }

void StorageTable::let_go(const FreedBlock& block) {
  const Storage* const entry = block.key == nullptr ? nullptr : entries_.find(block.key);
  if (entry != nullptr && entry->id == block.storage && entry->alive.expired()) remove(block.key);
}

void StorageTable::let_go(const void* data) {
  const Noted noted = noted_at(data);
  forget_noted(data);
  if (noted.entry != nullptr && noted.entry->alive.expired()) remove(noted.key);
}

void StorageTable::start(Storage& entry, const c10::StorageImpl& storage) {
  auto& owner = const_cast<c10::StorageImpl&>(storage);
  entry.alive = c10::weak_intrusive_ptr<c10::StorageImpl>(
      c10::intrusive_ptr<c10::StorageImpl>::unsafe_reclaim_from_nonowning(&owner));
  entry.data = storage.data();
  entry.bytes = storage.nbytes();
  entry.id = next_id_++;
  entry.writes = 0;
  entry.produced = false;
  entry.scratch = false;
  entry.has_gaps = false;
  entry.given = false;
  entry.of_backend = false;
  entry.handle = false;
  entry.arrives = 0;
  entry.writer = {};
  if (entry.name.id != 0) {
    entry.name = {};
    entry.named = {};
    entry.is_named_whole = false;
    entry.parts.clear();
  }
  entry.watched = false;
  entry.noted = false;
  entry.unread = false;
  entry.optimizer_state = false;
  entry.leaf_gradient = false;
  entry.uninitialised.clear();
  entry.filled_in_part = false;
  entry.written = {0, 0};
  entry.regions.clear();
  if (!entry.foreign && is_foreign(storage)) foreign_.push_back(&storage);
  entry.foreign = is_foreign(storage);
}

bool StorageTable::remove_if_gone(const c10::StorageImpl* key) {
  const Storage* const entry = entries_.find(key);
  if (entry == nullptr || !entry->alive.expired()) return false;
  remove(key);
  return true;
}

void StorageTable::purge_some() {
  const std::size_t effort = effort_ / kIdleAdditions + 1;
  bool any = false;
  for (std::size_t i = 0; i < effort; ++i)
    any |= remove_if_gone(recent_[recent_at_++ % recent_.size()]);
  for (std::size_t i = 0; i < std::min(effort + 1, kMostSwept) && !sweep_.empty(); ++i) {
    if (sweep_at_ >= sweep_.size()) sweep_at_ = 0;
    const c10::StorageImpl* const key = sweep_[sweep_at_];
    if (is_gone(*key)) {
      remove(key);
      any = true;
    } else {
      ++sweep_at_;
    }
  }
  if (any)
    effort_ = kMostEffort * kIdleAdditions - 1;
  else if (effort_ > 0)
    --effort_;
}

/// Ops ask for the same few storages in turn.
void StorageTable::note_request(const c10::StorageImpl* key) noexcept {
  for (std::size_t ago = 1; ago <= 4; ++ago)
    if (recent_[(recent_end_ - ago) % recent_.size()] == key) return;
  recent_[recent_end_++ % recent_.size()] = key;
}

void StorageTable::remove(const c10::StorageImpl* key) {
  const Storage& entry = *entries_.find(key);
  if (entry.foreign) std::erase(foreign_, key);
  if (last_key_ == key) last_key_ = nullptr;
  sweep_[entry.place] = sweep_.back();
  entries_.find(sweep_.back())->place = entry.place;
  sweep_.pop_back();
  entries_.erase(key);
}

void StorageTable::written_behind(Storage& other, const Storage& storage, const RegionKey& key) {
  if (&other == &storage || !share_memory(storage, other) || other.alive.expired()) return;
  const auto* written = static_cast<const std::byte*>(storage.data) + key.offset;
  const auto* base = static_cast<const std::byte*>(other.data);
  if (written + key.bytes <= base) return;
  const std::size_t begin = written > base ? static_cast<std::size_t>(written - base) : 0;
  const std::size_t end =
      std::min(other.bytes, static_cast<std::size_t>(written + key.bytes - base));
  if (begin >= end) return;
  other.regions.forget({begin, end - begin, 0});
  other.mark_written(begin, end);
  other.produced = true;
  other.writer = storage.writer;
  ++other.writes;
}

void StorageTable::write_through(const Storage& storage, const RegionKey& key) {
  if (storage.foreign) {
    entries_.for_each([&](Storage& other) { written_behind(other, storage, key); });
    return;
  }
  for (const c10::StorageImpl* address : foreign_)
    written_behind(*entries_.find(address), storage, key);
}

namespace detail {
constinit ProcessWide<StorageTable> storage_table;
}  // namespace detail

}  // namespace ulpscope::capture
