#include "ring/batch_reader.hpp"

#include <cstring>

#include "ring/message.hpp"

namespace ulpscope::ring {
namespace {

constexpr std::string_view kBadCounters = "its counters do not add up";
constexpr std::string_view kBadSize = "a message has an impossible size";

/// The size that a message claims, or 0 when no message can have it.
std::size_t message_size(const std::byte* message, std::uint64_t capacity) {
  MessageHeader header;
  std::memcpy(&header, message, sizeof header);
  return header.size % 8 == 0 && header.size <= capacity / 2 ? header.size : 0;
}

struct Prefix {
  std::size_t bytes = 0;  ///< whole messages at the beginning
  std::size_t next = 0;   ///< size of the truncated message after them; 0 if there is none
  bool sound = true;
};

Prefix whole_messages(std::span<const std::byte> bytes, std::uint64_t capacity) {
  Prefix prefix;
  while (prefix.bytes < bytes.size()) {
    const std::size_t size = message_size(bytes.data() + prefix.bytes, capacity);
    if (size == 0) {
      prefix.sound = false;
      return prefix;
    }
    if (size > bytes.size() - prefix.bytes) {
      prefix.next = size;
      return prefix;
    }
    prefix.bytes += size;
  }
  return prefix;
}

}  // namespace

Batch BatchReader::next(Consumer& consumer) {
  std::size_t count = consumer.read({buffer_.data(), batch_bytes_});
  if (consumer.damaged()) return {{}, kBadCounters};
  if (count == 0) return {};

  Prefix prefix = whole_messages({buffer_.data(), count}, consumer.capacity());
  if (prefix.bytes == 0 && prefix.next != 0) {
    // Longer than a batch. The second copy is checked like the first: it may have changed.
    if (prefix.next > buffer_.size()) buffer_.resize(prefix.next);
    count = consumer.read({buffer_.data(), prefix.next});
    prefix = whole_messages({buffer_.data(), count}, consumer.capacity());
  }
  // Everything before a bad message is valid; the bad one is found again at the next call.
  if (prefix.bytes == 0) return {{}, consumer.damaged() ? kBadCounters : kBadSize};
  return {{buffer_.data(), prefix.bytes}, {}};
}

}  // namespace ulpscope::ring
