#include "cli/record/before_first_event.hpp"

#include <cstring>
#include <utility>

#include "ring/message.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;

[[nodiscard]] bool ends_recording(std::span<const std::byte> message) {
  ring::NoticeMessage notice;
  if (message.size() < sizeof notice) return true;
  std::memcpy(&notice, message.data(), sizeof notice);
  return notice.fatal != 0;
}

/// Every process ends: that alone is not computation. What it leaves is.
[[nodiscard]] bool is_bare_end(std::span<const std::byte> message) {
  ring::EventRow event;
  if (message.size() < sizeof event) return false;
  std::memcpy(&event, message.data(), sizeof event);
  return event.kind == static_cast<std::uint8_t>(EventKind::outcome) && event.slots == 0;
}

/// The reason why a recording ends counts as one, and so do damaged messages: the dump reports
/// them.
[[nodiscard]] bool has_event(std::span<const std::byte> messages) {
  while (!messages.empty()) {
    ring::MessageHeader header;
    if (messages.size() < sizeof header) return true;
    std::memcpy(&header, messages.data(), sizeof header);
    if (header.size < sizeof header || header.size > messages.size()) return true;
    switch (header.kind) {
      case ring::MessageKind::string:
      case ring::MessageKind::op:
      case ring::MessageKind::geometry:
      case ring::MessageKind::stack:
      case ring::MessageKind::environment:
        break;
      case ring::MessageKind::notice:
        if (ends_recording(messages)) return true;
        break;
      case ring::MessageKind::event:
        if (!is_bare_end(messages)) return true;
        break;
      default:
        return true;
    }
    messages = messages.subspan(header.size);
  }
  return false;
}

}  // namespace

void BeforeFirstEvent::open_lane(std::uint32_t lane, bool is_main, std::string_view thread_name) {
  parts_.push_back({Part::Kind::open_lane, lane, is_main, std::string(thread_name)});
}

void BeforeFirstEvent::close_lane(std::uint32_t lane) {
  parts_.push_back({Part::Kind::close_lane, lane});
}

bool BeforeFirstEvent::take(std::uint32_t lane, std::span<const std::byte> messages) {
  if (bytes_ + messages.size() > kMostBytes || has_event(messages)) return false;
  bytes_ += messages.size();
  Part part{Part::Kind::messages, lane};
  part.messages.assign(messages.begin(), messages.end());
  parts_.push_back(std::move(part));
  return true;
}

void BeforeFirstEvent::give(dump::RankRecording& recording) {
  for (const Part& part : std::exchange(parts_, {})) {
    switch (part.kind) {
      case Part::Kind::open_lane:
        recording.open_lane(part.lane, part.is_main, part.thread_name);
        break;
      case Part::Kind::messages:
        recording.consume(part.lane, part.messages);
        break;
      case Part::Kind::close_lane:
        recording.close_lane(part.lane);
        break;
    }
  }
  bytes_ = 0;
}

}  // namespace ulpscope::cli
