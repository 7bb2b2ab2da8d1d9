#include "writer/stages/verified_bytes.hpp"

#include <charconv>
#include <string_view>

#include "writer/stages/messages.hpp"

namespace ulpscope::writer {
namespace {

constexpr std::string_view kKey = "capture.verified_bytes";

}  // namespace

void VerifiedBytes::read(std::uint32_t lane, std::span<const std::byte> message) {
  const ring::MessageKind kind = kind_of(message);
  if (kind == ring::MessageKind::string) {
    const auto string = read_text<ring::StringMessage>(message);
    if (string && string->text == kKey) key_[lane] = string->row.id;
  } else if (kind == ring::MessageKind::environment) {
    const auto setting = read_text<ring::EnvironmentMessage>(message);
    const auto key = key_.find(lane);
    if (!setting || key == key_.end() || setting->row.key != key->second) return;
    std::from_chars(setting->text.data(), setting->text.data() + setting->text.size(), bytes_);
  }
}

}  // namespace ulpscope::writer
