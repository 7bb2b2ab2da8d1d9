#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

/// Reading and writing of plain values in byte buffers; every read is bounds-checked.
namespace ulpscope::dump {

template <class T>
concept Plain = std::is_trivially_copyable_v<T>;

template <Plain T>
[[nodiscard]] std::span<const std::byte> bytes_of(const T& value) noexcept {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

[[nodiscard]] inline std::span<const std::byte> bytes_of(std::string_view text) noexcept {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

[[nodiscard]] inline std::string_view text_of(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[nodiscard]] constexpr std::uint64_t zigzag(std::uint64_t difference) noexcept {
  return (difference << 1) ^ (std::uint64_t{0} - (difference >> 63));
}

[[nodiscard]] constexpr std::uint64_t unzigzag(std::uint64_t coded) noexcept {
  return (coded >> 1) ^ (std::uint64_t{0} - (coded & 1));
}

class ByteWriter {
 public:
  template <Plain T>
  void put(const T& value) {
    put_bytes(bytes_of(value));
  }
  void put_bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  /// A length (u32), then the bytes.
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    put_bytes(bytes_of(text));
  }
  /// Seven bits a byte, lowest first, the top bit set on all but the last byte.
  void put_varint(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<std::byte>(value | 0x80));
      value >>= 7;
    }
    bytes_.push_back(static_cast<std::byte>(value));
  }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  void clear() noexcept { bytes_.clear(); }

 private:
  std::vector<std::byte> bytes_;
};

/// After a read past the end, ok() is false and every further read returns zeros.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  template <Plain T>
  [[nodiscard]] T get() noexcept {
    if constexpr (std::is_same_v<T, bool>) return get_up_to(std::uint8_t{1}) == 1;
    T value{};
    const auto bytes = get_bytes(sizeof(T));
    if (ok_) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  /// A value of an enumeration, or a number; a greater one counts as a read past the end.
  template <Plain T>
  [[nodiscard]] T get_up_to(T last) noexcept {
    const T value = get<T>();
    if (value <= last) return value;
    ok_ = false;
    return T{};
  }
  /// A step as recordings count them, from -1 (setup) on; any other number counts as above.
  [[nodiscard]] std::int64_t get_step() noexcept {
    constexpr std::int64_t kMost = std::int64_t{1} << 53;
    const auto step = get<std::int64_t>();
    if (step >= -1 && step <= kMost) return step;
    ok_ = false;
    return -1;
  }
  [[nodiscard]] std::span<const std::byte> get_bytes(std::size_t count) noexcept {
    if (!ok_ || count > rest_.size()) {
      ok_ = false;
      return {};
    }
    const auto bytes = rest_.first(count);
    rest_ = rest_.subspan(count);
    return bytes;
  }
  [[nodiscard]] std::string_view get_text() noexcept {
    return text_of(get_bytes(get<std::uint32_t>()));
  }
  [[nodiscard]] std::uint64_t get_varint() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = get<std::uint8_t>();
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] std::size_t left() const noexcept { return rest_.size(); }

 private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

}  // namespace ulpscope::dump
