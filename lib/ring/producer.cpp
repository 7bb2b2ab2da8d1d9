#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include "ring/ring.hpp"
#include "ring/unnoticed.hpp"

namespace ulpscope::ring {
namespace {

using Nanoseconds = std::chrono::nanoseconds;
using namespace std::chrono_literals;

/// Small enough for a thread that records little, large enough not to call often.
constexpr std::uint64_t kFetchedAtOnce = std::uint64_t{128} << 10;

constexpr Nanoseconds kShortestPause = 50us;
constexpr Nanoseconds kLongestPause = 1ms;

/// The maximum that one pause counts as waiting. A longer pause means that this program itself was
/// stopped (Ctrl-Z, a debugger), probably together with the writer.
constexpr Nanoseconds kLongestCounted = 100ms;

Nanoseconds now() noexcept { return std::chrono::steady_clock::now().time_since_epoch(); }

void pause_for(Nanoseconds duration) noexcept {
  const timespec time{0, duration.count()};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

}  // namespace

bool writer_alive(const WriterPage& page) noexcept {
  // glibc's futex word: the owner's thread id, which the kernel clears when the owner dies.
  constexpr int kThreadIdBits = 0x3fffffff;
  auto& word = const_cast<int&>(page.alive.__data.__lock);  // atomic_ref takes no const; only read
  return (std::atomic_ref<int>(word).load(std::memory_order_acquire) & kThreadIdBits) != 0;
}

Producer::Producer(RingMapping mapping, const SessionLink& session) noexcept
    : mapping_(std::move(mapping)) {
  if (!mapping_) return;
  header_ = mapping_.header();
  data_ = mapping_.data();
  mask_ = mapping_.capacity() - 1;
  fetched_ = header_->unfilled != 0 ? 0 : mapping_.capacity();
  max_message_ = static_cast<std::uint32_t>(mapping_.capacity() / 2);
  link_ = session;
}

Producer::Producer(Producer&& other) noexcept { *this = std::move(other); }

Producer& Producer::operator=(Producer&& other) noexcept {
  if (this == &other) return *this;
  close();
  header_ = std::exchange(other.header_, nullptr);
  data_ = std::exchange(other.data_, nullptr);
  mask_ = other.mask_;
  head_ = other.head_;
  room_end_ = other.room_end_;
  limit_ = other.limit_;
  fetched_ = other.fetched_;
  max_message_ = std::exchange(other.max_message_, 0);
  end_ = other.end_;
  link_ = std::exchange(other.link_, {});
  mapping_ = std::exchange(other.mapping_, {});
  return *this;
}

Producer::~Producer() { close(); }

void Producer::close() noexcept {
  if (recording()) {
    header_->producer_end.store(ProducerEnd::closed, std::memory_order_release);
  } else {
    static_cast<void>(note_end());
  }
  const Unnoticed unnoticed;
  link_ = {};
  mapping_ = {};
}

bool Producer::make_room(std::uint32_t size) noexcept {
  if (!look_at_writer()) return false;
  if (room_end_ - head_ < size && !wait_for_room(size)) return false;
  const std::uint64_t look_again = std::max<std::uint64_t>(size, mapping_.capacity() / 8);
  limit_ = std::min(room_end_, head_ + look_again);
  return fetched_ == mapping_.capacity() || fetch_room(size);
}

bool Producer::fetch_room(std::uint32_t size) noexcept {
  const std::uint64_t capacity = mapping_.capacity();
  if (fetched_ < head_ + size) {
    const Unnoticed unnoticed;
    const std::uint64_t wanted = std::max(head_ + size, fetched_ + kFetchedAtOnce);
    const std::uint64_t page = page_bytes();
    const std::uint64_t end = std::min((wanted + page - 1) & ~(page - 1), capacity);
    if (end > fetched_ && !fetch_memory(data_ + fetched_, end - fetched_)) {
      give_up(ProducerEnd::no_memory);
      return false;
    }
    fetched_ = end;
  }
  if (fetched_ < capacity) limit_ = std::min(limit_, fetched_);
  return true;
}

bool Producer::look_at_writer() noexcept {
  if (!writer_alive(*link_.writer)) {
    give_up(ProducerEnd::writer_gone);
    return false;
  }
  if (header_->consumer_closed.load(std::memory_order_relaxed) != 0) {
    give_up(ProducerEnd::stopped);
    return false;
  }
  const std::uint64_t tail = header_->tail.load(std::memory_order_acquire);
  if (head_ - tail > mapping_.capacity()) {
    give_up(ProducerEnd::damaged);
    return false;
  }
  room_end_ = tail + mapping_.capacity();
  return true;
}

bool Producer::wait_for_room(std::uint32_t size) noexcept {
  const Unnoticed unnoticed;
  header_->stalls.fetch_add(1, std::memory_order_relaxed);
  const Nanoseconds patience = std::chrono::milliseconds(link_.give_up_milliseconds);
  Nanoseconds without_progress{0};
  Nanoseconds pause = kShortestPause;
  std::uint64_t progress = link_.writer->progress.load(std::memory_order_relaxed);
  std::uint64_t room_end = room_end_;
  Nanoseconds before = now();

  while (room_end_ - head_ < size) {
    if (without_progress >= patience) {
      give_up(ProducerEnd::writer_stuck);
      return false;
    }
    pause_for(pause);
    pause = std::min(pause * 2, kLongestPause);

    const Nanoseconds after = now();
    header_->stalled_nanoseconds.fetch_add(static_cast<std::uint64_t>((after - before).count()),
                                           std::memory_order_relaxed);
    without_progress += std::min(after - before, kLongestCounted);
    before = after;

    if (!recording() || !look_at_writer()) return false;
    const std::uint64_t progress_now = link_.writer->progress.load(std::memory_order_relaxed);
    if (progress_now != progress || room_end_ != room_end) without_progress = Nanoseconds{0};
    progress = progress_now;
    room_end = room_end_;
  }
  return true;
}

void Producer::give_up(ProducerEnd why) noexcept {
  std::uint64_t token = link_.token;
  link_.guard->token.compare_exchange_strong(token, link_.token + kOver, std::memory_order_relaxed);
  end_ = why;
  header_->producer_end.store(why, std::memory_order_release);
}

void* Producer::note_end() noexcept {
  // In a forked child the guard does not read as "over", and the ring is the parent's: hands off.
  if (end_ != ProducerEnd::none || link_.guard == nullptr ||
      link_.guard->token.load(std::memory_order_relaxed) != link_.token + kOver) {
    return nullptr;
  }
  end_ = ProducerEnd::stopped;
  header_->producer_end.store(end_, std::memory_order_release);
  return nullptr;
}

}  // namespace ulpscope::ring
