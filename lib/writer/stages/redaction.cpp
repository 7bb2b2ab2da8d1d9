#include "writer/stages/redaction.hpp"

#include <algorithm>

#include "core/glob.hpp"
#include "writer/stages/messages.hpp"

namespace ulpscope::writer {
namespace {

constexpr std::string_view kMask = "<redacted>";
constexpr std::size_t kLongestKey = 256;  // longer strings of a ring name no setting

/// The same setting with the mask for its value.
[[nodiscard]] std::vector<std::byte> masked_setting(ring::EnvironmentMessage row) {
  row.length = static_cast<std::uint32_t>(kMask.size());
  row.header.size = ring::padded(sizeof row + kMask.size());
  std::vector<std::byte> message;
  append(message, std::as_bytes(std::span(&row, 1)));
  append(message, std::as_bytes(std::span(kMask)));
  message.resize(row.header.size);
  return message;
}

}  // namespace

bool Redaction::matches(std::string_view text) const {
  return std::any_of(globs_.begin(), globs_.end(),
                     [text](const std::string& glob) { return core::glob_match(glob, text); });
}

bool Redaction::masks(std::string_view key, std::string_view value) const {
  const std::string_view name = key.substr(key.find('.') + 1);  // all of it if there is no '.'
  return matches(key) || matches(name) || matches(value);
}

std::string Redaction::masked(const std::string& word) const {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) return matches(word) ? std::string(kMask) : word;
  const bool hit = matches(word) || matches(std::string_view(word).substr(0, equals)) ||
                   matches(std::string_view(word).substr(equals + 1));
  return hit ? word.substr(0, equals + 1) + std::string(kMask) : word;
}

std::vector<std::string> Redaction::command(const std::vector<std::string>& words) const {
  std::vector<std::string> result;
  bool mask_next = false;
  for (const std::string& word : words) {
    const bool is_option = word.starts_with('-') && word.find('=') == std::string::npos;
    if (is_option && matches(word)) {
      result.push_back(word);
      mask_next = true;
      continue;
    }
    result.push_back(mask_next ? std::string(kMask) : masked(word));
    mask_next = false;
  }
  return result;
}

bool RedactedMessages::must_mask(std::uint32_t lane, std::span<const std::byte> message) const {
  const auto setting = read_text<ring::EnvironmentMessage>(message);
  const auto strings = strings_.find(lane);
  if (!setting || strings == strings_.end()) return false;
  const auto key = strings->second.find(setting->row.key);
  return key != strings->second.end() && redaction_.masks(key->second, setting->text);
}

std::span<const std::byte> RedactedMessages::apply(std::uint32_t lane,
                                                   std::span<const std::byte> message) {
  if (redaction_.empty()) return message;
  const ring::MessageKind kind = kind_of(message);
  if (kind == ring::MessageKind::string) {
    const auto string = read_text<ring::StringMessage>(message);
    if (string && string->text.size() <= kLongestKey)
      strings_[lane].insert_or_assign(string->row.id, std::string(string->text));
  }
  if (kind != ring::MessageKind::environment || !must_mask(lane, message)) return message;
  copy_ = masked_setting(*read_row<ring::EnvironmentMessage>(message));
  return copy_;
}

}  // namespace ulpscope::writer
