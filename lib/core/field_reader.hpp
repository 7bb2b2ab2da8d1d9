#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace ulpscope {

/// Reads consecutive little-endian fields. After the first read past the end every read
/// fails, and the values it returned in between are zero.
class FieldReader {
 public:
  explicit FieldReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  /// Whether `count` elements of at least `smallest` bytes can follow.
  [[nodiscard]] bool has(std::uint64_t count, std::size_t smallest) {
    good_ = good_ && count <= rest_.size() / smallest;
    return good_;
  }

  template <class T>
  T read() {
    T value{};
    if (has(1, sizeof(T))) {
      std::memcpy(&value, rest_.data(), sizeof(T));
      rest_ = rest_.subspan(sizeof(T));
    }
    return value;
  }

  std::string read_string() {
    const auto length = read<std::uint32_t>();
    if (!has(length, 1)) return {};
    std::string text(reinterpret_cast<const char*>(rest_.data()), length);
    rest_ = rest_.subspan(length);
    return text;
  }

 private:
  std::span<const std::byte> rest_;
  bool good_ = true;
};

}  // namespace ulpscope
