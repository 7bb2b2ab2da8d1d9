#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// What the process that calls HDF5 and the one that asks it say to each other.
namespace ulpscope::tensors {

/// Numbers, texts and lists as bytes. Both ends are the same program.
class MessageWriter {
 public:
  void number(std::uint64_t value) {
    for (int k = 0; k < 8; ++k) bytes_.push_back(static_cast<char>((value >> (8 * k)) & 0xff));
  }
  void text(std::string_view value) {
    number(value.size());
    bytes_.append(value);
  }
  void sizes(const std::vector<std::int64_t>& values) {
    number(values.size());
    for (const std::int64_t value : values) number(static_cast<std::uint64_t>(value));
  }
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

 private:
  std::string bytes_;
};

/// @throws std::out_of_range if the message ends too early: the other end may have been taken over.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] std::uint64_t number() {
    std::uint64_t value = 0;
    const std::string_view bytes = take(8);
    for (std::size_t k = 8; k-- > 0;) value = (value << 8) | static_cast<unsigned char>(bytes[k]);
    return value;
  }
  [[nodiscard]] std::string text() { return std::string(take(number())); }
  [[nodiscard]] std::vector<std::int64_t> sizes() {
    std::vector<std::int64_t> values;
    for (std::uint64_t left = number(); left > 0; --left)
      values.push_back(static_cast<std::int64_t>(number()));
    return values;
  }

 private:
  [[nodiscard]] std::string_view take(std::uint64_t bytes) {
    if (bytes > rest_.size()) throw std::out_of_range("message");
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  std::string_view rest_;
};

}  // namespace ulpscope::tensors
