#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "capture/content.hpp"
#include "capture/thread.hpp"
#include "ring/injection.hpp"

namespace ulpscope::capture {

/// A tensor that may be given a value, on the host or on a device.
class InjectionTarget {
 public:
  /// Whether there can be one: quantized and sparse tensors, and numbers, are none.
  [[nodiscard]] static bool can_be(const at::Tensor& tensor);

  InjectionTarget(Thread& thread, const at::Tensor& tensor)
      : thread_(thread), tensor_(tensor), content_(content_of(tensor)) {}

  /// Of what it holds now; empty if that cannot be read.
  [[nodiscard]] std::optional<Digest> digest();

  /// Writes the value's bytes. False if it cannot: it has another layout, its memory is the
  /// program's own (a mapped file, an array of NumPy), or cannot be written.
  [[nodiscard]] bool fill(const ring::injection::Value& value);

 private:
  [[nodiscard]] bool takes(const ring::injection::Value& value,
                           std::span<const std::int64_t> packed) const;
  [[nodiscard]] std::span<std::byte> scratch();
  [[nodiscard]] std::byte* memory() const noexcept {
    return const_cast<std::byte*>(content_.bytes.data);
  }
  [[nodiscard]] bool copy(void* to, const void* from) const;
  [[nodiscard]] bool fill_at_once(const ring::injection::Value& value) const;
  [[nodiscard]] bool fill_in_pieces(const ring::injection::Value& value) const;

  Thread& thread_;
  const at::Tensor& tensor_;
  Content content_;
};

}  // namespace ulpscope::capture
