#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "core/argument_codec.hpp"
#include "ulpscope/digest.hpp"
#include "ulpscope/dtype.hpp"

namespace ulpscope {

/// Writes an op's arguments in the form of argument_codec.hpp into a buffer of the caller.
///
/// Never allocates and never throws. An item that does not fit is left out completely, and so is
/// every one after it; fits() then returns false. `index` is the argument's place in the schema,
/// with kArgumentResult set for a returned scalar.
class ArgumentWriter {
 public:
  explicit ArgumentWriter(std::span<std::byte> buffer) noexcept : buffer_(buffer) {}

  /// The items written so far.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return buffer_.first(size_); }
  [[nodiscard]] bool fits() const noexcept { return fits_; }

  void none(std::uint16_t index) noexcept { item(index, ArgumentTag::none); }
  void integer(std::uint16_t index, std::int64_t value) noexcept {
    item(index, ArgumentTag::int_, value);
  }
  void number(std::uint16_t index, double value) noexcept {
    item(index, ArgumentTag::double_, value);
  }
  void boolean(std::uint16_t index, bool value) noexcept {
    item(index, ArgumentTag::bool_, std::uint8_t{value});
  }
  void complex(std::uint16_t index, double real, double imaginary) noexcept {
    item(index, ArgumentTag::complex_, real, imaginary);
  }
  void string(std::uint16_t index, std::string_view value) noexcept {
    item(index, ArgumentTag::string, value);
  }
  void dtype(std::uint16_t index, Dtype value) noexcept { item(index, ArgumentTag::dtype, value); }
  /// As c10::Layout.
  void layout(std::uint16_t index, std::uint8_t value) noexcept {
    item(index, ArgumentTag::layout, value);
  }
  /// As c10::MemoryFormat.
  void memory_format(std::uint16_t index, std::uint8_t value) noexcept {
    item(index, ArgumentTag::memory_format, value);
  }
  /// As c10::DeviceType; `number` is -1 for "the current one".
  void device(std::uint16_t index, std::uint8_t type, std::int8_t number) noexcept {
    item(index, ArgumentTag::device, type, number);
  }
  void generator(std::uint16_t index, std::uint8_t type, std::int8_t number) noexcept {
    item(index, ArgumentTag::generator, type, number);
  }
  /// Present but without a comparable value.
  void opaque(std::uint16_t index, std::string_view type_name) noexcept {
    item(index, ArgumentTag::opaque, type_name);
  }

  /// Lists of `count` elements, `at(i)` giving the i-th. More than kLongestArgumentList elements
  /// are kept as a digest.
  template <class At>
  void int_list(std::uint16_t index, std::size_t count, At&& at) noexcept {
    list<std::int64_t>(index, ArgumentTag::int_list, count, at);
  }
  template <class At>
  void double_list(std::uint16_t index, std::size_t count, At&& at) noexcept {
    list<double>(index, ArgumentTag::double_list, count, at);
  }
  template <class At>
  void bool_list(std::uint16_t index, std::size_t count, At&& at) noexcept {
    list<std::uint8_t>(index, ArgumentTag::bool_list, count,
                       [&at](std::size_t i) { return static_cast<std::uint8_t>(bool{at(i)}); });
  }
  template <class At>
  void string_list(std::uint16_t index, std::size_t count, At&& at) noexcept {
    list<std::string_view>(index, ArgumentTag::string_list, count, at);
  }
  void int_list(std::uint16_t index, std::span<const std::int64_t> values) noexcept {
    int_list(index, values.size(), [values](std::size_t i) { return values[i]; });
  }
  void double_list(std::uint16_t index, std::span<const double> values) noexcept {
    double_list(index, values.size(), [values](std::size_t i) { return values[i]; });
  }

 private:
  template <class... Payload>
  void item(std::uint16_t index, ArgumentTag tag, const Payload&... payload) noexcept {
    const std::size_t begin = size_;
    put(index);
    put(tag);
    (put(payload), ...);
    if (!fits_) size_ = begin;
  }

  template <class Element, class At>
  void list(std::uint16_t index, ArgumentTag tag, std::size_t count, At&& at) noexcept {
    if (count > kLongestArgumentList) return long_list<Element>(index, count, at);
    const std::size_t begin = size_;
    put(index);
    put(tag);
    put(static_cast<std::uint32_t>(count));
    for (std::size_t i = 0; i < count && fits_; ++i) put(Element(at(i)));
    if (!fits_) size_ = begin;
  }

  /// The digest is that of the elements as they would have been written.
  template <class Element, class At>
  void long_list(std::uint16_t index, std::size_t count, At&& at) noexcept {
    DigestStream stream;
    for (std::size_t i = 0; i < count; ++i) {
      const Element element(at(i));
      if constexpr (std::same_as<Element, std::string_view>) {
        const auto length = static_cast<std::uint32_t>(element.size());
        stream.update(std::as_bytes(std::span(&length, 1)));
        stream.update(std::as_bytes(std::span(element)));
      } else {
        stream.update(std::as_bytes(std::span(&element, 1)));
      }
    }
    const Digest digest = stream.finish();
    item(index, ArgumentTag::long_list, static_cast<std::uint32_t>(count), digest.high, digest.low);
  }

  template <class T>
  void put(const T& value) noexcept {
    if constexpr (std::same_as<T, std::string_view>) {
      put(static_cast<std::uint32_t>(value.size()));
      put_bytes(value.data(), value.size());
    } else {
      put_bytes(&value, sizeof(value));
    }
  }

  void put_bytes(const void* source, std::size_t count) noexcept {
    fits_ = fits_ && count <= buffer_.size() - size_;
    if (!fits_ || count == 0) return;
    std::memcpy(buffer_.data() + size_, source, count);
    size_ += count;
  }

  std::span<std::byte> buffer_;
  std::size_t size_ = 0;
  bool fits_ = true;
};

}  // namespace ulpscope
