#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ring/message.hpp"

namespace ulpscope::writer {

/// Of bytes that are at least a header.
[[nodiscard]] inline ring::MessageHeader header_of(std::span<const std::byte> message) {
  ring::MessageHeader header;
  std::memcpy(&header, message.data(), sizeof header);
  return header;
}
[[nodiscard]] inline ring::MessageKind kind_of(std::span<const std::byte> message) {
  return header_of(message).kind;
}

/// Calls `use` with the bytes of each whole message. Returns what follows them: nothing, or an
/// inconsistent one.
template <class Use>
std::span<const std::byte> for_each_message(std::span<const std::byte> messages, Use&& use) {
  while (messages.size() >= sizeof(ring::MessageHeader)) {
    const ring::MessageHeader header = header_of(messages);
    if (header.size < sizeof header || header.size > messages.size()) break;
    use(messages.first(header.size));
    messages = messages.subspan(header.size);
  }
  return messages;
}

inline void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  const std::size_t begin = to.size();
  to.resize(begin + bytes.size());
  if (!bytes.empty()) std::memcpy(to.data() + begin, bytes.data(), bytes.size());
}

/// The fixed row of a message; empty if it is too short for one.
template <class Row>
[[nodiscard]] std::optional<Row> read_row(std::span<const std::byte> message) {
  if (message.size() < sizeof(Row)) return std::nullopt;
  Row row;
  std::memcpy(&row, message.data(), sizeof(Row));
  return row;
}

/// A message's fixed row and the text after it; empty if it is too short for what it says.
template <class Row>
struct RowAndText {
  Row row;
  std::string_view text;
};

template <class Row>
[[nodiscard]] std::optional<RowAndText<Row>> read_text(std::span<const std::byte> message) {
  const auto row = read_row<Row>(message);
  if (!row || row->length > message.size() - sizeof(Row)) return std::nullopt;
  return RowAndText<Row>{
      *row, {reinterpret_cast<const char*>(message.data()) + sizeof(Row), row->length}};
}

}  // namespace ulpscope::writer
