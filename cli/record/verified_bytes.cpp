#include "cli/record/verified_bytes.hpp"

#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "ring/message.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::string_view kKey = "capture.verified_bytes";

/// A message's fixed row and the text behind it; empty where it is too short for what it says.
template <class Row>
struct Read {
  Row row;
  std::string_view text;
};

template <class Row>
std::optional<Read<Row>> read_text(std::span<const std::byte> message) {
  if (message.size() < sizeof(Row)) return std::nullopt;
  Read<Row> result;
  std::memcpy(&result.row, message.data(), sizeof(Row));
  if (result.row.length > message.size() - sizeof(Row)) return std::nullopt;
  result.text = {reinterpret_cast<const char*>(message.data()) + sizeof(Row), result.row.length};
  return result;
}

}  // namespace

void VerifiedBytes::read(std::uint32_t lane, std::span<const std::byte> messages) {
  while (messages.size() >= sizeof(ring::MessageHeader)) {
    ring::MessageHeader header;
    std::memcpy(&header, messages.data(), sizeof header);
    if (header.size < sizeof header || header.size > messages.size()) return;
    const std::span<const std::byte> message = messages.first(header.size);
    messages = messages.subspan(header.size);
    if (header.kind == ring::MessageKind::string) {
      const auto string = read_text<ring::StringMessage>(message);
      if (string && string->text == kKey) key_[lane] = string->row.id;
    } else if (header.kind == ring::MessageKind::environment) {
      const auto setting = read_text<ring::EnvironmentMessage>(message);
      const auto key = key_.find(lane);
      if (!setting || key == key_.end() || setting->row.key != key->second) continue;
      std::from_chars(setting->text.data(), setting->text.data() + setting->text.size(), bytes_);
    }
  }
}

}  // namespace ulpscope::cli
