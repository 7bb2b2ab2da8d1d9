#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "ring/message.hpp"
#include "ring/ring.hpp"

/// Messages whose every byte follows from their number, so that the receiver can check whether each
/// came whole, once and in order.
namespace ulpscope::ring::test {

/// splitmix64.
inline std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

/// From 16 to `limit` bytes, small ones more often.
inline std::uint32_t numbered_size(std::uint64_t number, std::uint32_t limit) {
  const std::uint64_t random = mixed(number);
  const std::uint64_t bound = std::uint64_t{16} << (random % 24);
  const std::uint64_t size = 16 + mixed(random) % bound;
  return padded(size < limit ? size : limit) & ~7U;
}

inline void write_numbered(void* room, std::uint64_t number, std::uint32_t size) {
  const MessageHeader header{size, MessageKind::notice, 0};
  auto* const bytes = static_cast<std::byte*>(room);
  std::memcpy(bytes, &header, sizeof header);
  for (std::uint32_t at = sizeof header; at < size; at += 8) {
    const std::uint64_t word = number ^ mixed(at);
    std::memcpy(bytes + at, &word, sizeof word);
  }
}

inline bool send_numbered(Producer& producer, std::uint64_t number) {
  const std::uint32_t size = numbered_size(number, producer.max_message());
  void* const room = producer.reserve(size);
  if (room == nullptr) return false;
  write_numbered(room, number, size);
  producer.commit(size);
  return true;
}

/// Checks a stream of numbered messages as it comes.
class NumberedReader {
 public:
  explicit NumberedReader(std::uint32_t max_message) : max_message_(max_message) {}

  void take(std::span<const std::byte> messages) {
    while (!messages.empty() && sound_) {
      MessageHeader header;
      std::memcpy(&header, messages.data(), sizeof header);
      const std::uint32_t size = numbered_size(next_, max_message_);
      expected_.resize(size);
      write_numbered(expected_.data(), next_, size);
      sound_ = header.size == size && messages.size() >= size &&
               std::memcmp(messages.data(), expected_.data(), size) == 0;
      if (sound_) messages = messages.subspan(size);
      ++next_;
    }
  }

  /// How many came; all of them as they were sent if sound().
  [[nodiscard]] std::uint64_t count() const { return next_; }
  [[nodiscard]] bool sound() const { return sound_; }

 private:
  std::uint32_t max_message_;
  std::uint64_t next_ = 0;
  bool sound_ = true;
  std::vector<std::byte> expected_;
};

}  // namespace ulpscope::ring::test
