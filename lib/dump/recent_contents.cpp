#include "dump/recent_contents.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ulpscope::dump {
namespace {

constexpr std::size_t kLeavingBytes = 4 << 20;  // together, so that they are stored in large pieces

}  // namespace

RecentContents::RecentContents(std::size_t capacity, std::size_t largest, Leave leave)
    : capacity_(capacity), largest_(largest), leave_(std::move(leave)) {}

std::optional<std::uint64_t> RecentContents::reserve(const Digest& digest, std::uint64_t bytes) {
  if (bytes == 0 || bytes > largest_) return std::nullopt;
  if (!memory_) memory_ = std::make_unique_for_overwrite<std::byte[]>(capacity_);
  auto at = find_room(bytes);
  while (!at) {
    if (!make_room(bytes)) return std::nullopt;
    at = find_room(bytes);
  }
  entries_.push_back({digest, *at, bytes});
  end_ = *at + bytes;
  waiting_bytes_ += bytes;
  return first_ + entries_.size() - 1;
}

std::optional<std::size_t> RecentContents::find_room(std::size_t bytes) {
  if (entries_.empty()) return 0;
  const std::size_t begin = entries_.front().at;
  if (end_ <= begin) return begin - end_ >= bytes ? std::optional(end_) : std::nullopt;
  if (capacity_ - end_ >= bytes) return end_;
  return begin >= bytes ? std::optional<std::size_t>(0) : std::nullopt;
}

/// False if the oldest content is still coming.
bool RecentContents::make_room(std::size_t bytes) {
  std::vector<Content> leaving;
  const std::size_t wanted = std::max(bytes, std::min(kLeavingBytes, capacity_ / 4));
  std::size_t freed = 0;
  std::size_t count = 0;
  for (; count < entries_.size() && freed < wanted && entries_[count].complete; ++count) {
    const Entry& oldest = entries_[count];
    freed += oldest.bytes;
    if (!oldest.stored) {
      leaving.push_back({oldest.digest, {memory_.get() + oldest.at, oldest.bytes}});
    }
  }
  if (count == 0) return false;
  if (!leaving.empty()) leave_(leaving);
  for (; count > 0; --count) {
    Entry& oldest = entries_.front();
    set_stored(oldest);
    const auto found = complete_.find(oldest.digest);
    if (found != complete_.end() && found->second == first_) complete_.erase(found);
    entries_.pop_front();
    ++first_;
  }
  return true;
}

void RecentContents::fill(std::uint64_t number, std::uint64_t offset,
                          std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  std::memcpy(memory_.get() + entry(number).at + offset, bytes.data(), bytes.size());
}

void RecentContents::complete(std::uint64_t number) {
  entry(number).complete = true;
  const bool first = complete_.try_emplace(entry(number).digest, number).second;
  if (!first) set_stored(entry(number));
}

void RecentContents::abandon(std::uint64_t number) {
  entry(number).complete = true;
  set_stored(entry(number));
}

std::optional<std::span<const std::byte>> RecentContents::find(const Digest& digest) const {
  const auto found = complete_.find(digest);
  if (found == complete_.end()) return std::nullopt;
  const Entry& entry = entries_[found->second - first_];
  return std::span<const std::byte>(memory_.get() + entry.at, entry.bytes);
}

void RecentContents::mark_stored(const Digest& digest) {
  const auto found = complete_.find(digest);
  if (found != complete_.end()) set_stored(entry(found->second));
}

void RecentContents::set_stored(Entry& entry) {
  if (!entry.stored) waiting_bytes_ -= entry.bytes;
  entry.stored = true;
}

void RecentContents::clear() {
  while (!entries_.empty() && make_room(capacity_)) {
  }
}

}  // namespace ulpscope::dump
