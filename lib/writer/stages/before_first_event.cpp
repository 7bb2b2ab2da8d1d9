#include "writer/stages/before_first_event.hpp"

#include <utility>

#include "ring/message.hpp"
#include "ulpscope/run.hpp"
#include "writer/stages/messages.hpp"

namespace ulpscope::writer {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;

[[nodiscard]] bool ends_recording(std::span<const std::byte> message) {
  const auto notice = read_row<ring::NoticeMessage>(message);
  return !notice || notice->fatal != 0;
}

/// Every process ends: that alone is not computation. What it leaves is.
[[nodiscard]] bool is_bare_end(std::span<const std::byte> message) {
  const auto event = read_row<ring::EventRow>(message);
  return event && event->kind == static_cast<std::uint8_t>(EventKind::outcome) && event->slots == 0;
}

/// The reason why a recording ends counts as one, and so do damaged messages: the dump reports
/// them.
[[nodiscard]] bool has_event(std::span<const std::byte> messages) {
  bool any = false;
  const auto rest = for_each_message(messages, [&](auto message) {
    switch (kind_of(message)) {
      case ring::MessageKind::string:
      case ring::MessageKind::op:
      case ring::MessageKind::geometry:
      case ring::MessageKind::stack:
      case ring::MessageKind::environment:
        break;
      case ring::MessageKind::notice:
        any = any || ends_recording(message);
        break;
      case ring::MessageKind::event:
        any = any || !is_bare_end(message);
        break;
      default:
        any = true;
    }
  });
  return any || !rest.empty();
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

}  // namespace ulpscope::writer
