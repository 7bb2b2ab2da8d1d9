#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ulpscope::writer {

/// What `--redact` masks: names stay, values become "<redacted>".
class Redaction {
 public:
  /// Globs with `*` and `?`.
  explicit Redaction(std::vector<std::string> globs = {}) : globs_(std::move(globs)) {}

  [[nodiscard]] bool empty() const noexcept { return globs_.empty(); }

  /// True for a setting whose key ("env.API_TOKEN"), whose key without its group ("API_TOKEN"), or
  /// whose value matches.
  [[nodiscard]] bool masks(std::string_view key, std::string_view value) const;

  /// A command line with what matches masked: a whole word, what follows the first '=' of a word,
  /// or the word after an option that matches.
  [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& words) const;

 private:
  [[nodiscard]] bool matches(std::string_view text) const;
  [[nodiscard]] std::string masked(const std::string& word) const;

  std::vector<std::string> globs_;
};

/// Masks settings in the messages of one process, before anything of them is stored.
class RedactedMessages {
 public:
  explicit RedactedMessages(const Redaction& redaction) : redaction_(redaction) {}

  /// A message of a lane as it may be stored: the given one, or a copy that is valid until the next
  /// call.
  [[nodiscard]] std::span<const std::byte> apply(std::uint32_t lane,
                                                 std::span<const std::byte> message);

 private:
  [[nodiscard]] bool must_mask(std::uint32_t lane, std::span<const std::byte> message) const;

  const Redaction& redaction_;
  std::map<std::uint32_t, std::map<std::uint32_t, std::string>> strings_;  ///< lane -> id -> text
  std::vector<std::byte> copy_;
};

}  // namespace ulpscope::writer
