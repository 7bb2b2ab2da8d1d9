#pragma once

#include <cstddef>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "dump/segment_reader.hpp"

namespace ulpscope::dump {

/// The segments read last, so that a dump of any size needs the memory of a few.
class SegmentCache {
 public:
  explicit SegmentCache(std::size_t capacity) noexcept : capacity_(capacity) {}

  [[nodiscard]] std::shared_ptr<const Segment> get(const std::filesystem::path& path) {
    const std::scoped_lock lock(mutex_);
    for (auto item = items_.begin(); item != items_.end(); ++item) {
      if (item->first != path) continue;
      items_.splice(items_.begin(), items_, item);
      return items_.front().second;
    }
    items_.emplace_front(path, Segment::open(path));
    if (items_.size() > capacity_) items_.pop_back();
    return items_.front().second;
  }

 private:
  std::size_t capacity_;
  std::mutex mutex_;
  std::list<std::pair<std::filesystem::path, std::shared_ptr<const Segment>>> items_;
};

}  // namespace ulpscope::dump
