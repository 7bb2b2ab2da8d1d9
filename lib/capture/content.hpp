#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "capture/storage_table.hpp"
#include "ulpscope/digest.hpp"

namespace ulpscope::capture {

class Thread;
struct KnownGeometry;

/// A tensor's bytes in memory, its device's or the host's.
struct Content {
  StridedBytes bytes;
  RegionKey key;
  bool dense = false;
  bool contiguous = false;
  bool conj = false;
  bool neg = false;
  bool complex = false;
  std::size_t dense_size = 0;

  [[nodiscard]] std::span<const std::byte> span() const { return {bytes.data, dense_size}; }
  [[nodiscard]] bool plain() const noexcept { return dense && !conj && !neg; }
};

/// Whether a tensor is nothing but strided memory of the CPU, so that its accessors only load.
[[nodiscard]] inline bool is_ordinary(const c10::TensorImpl& tensor) noexcept {
  constexpr c10::DispatchKeySet kBeside(
      {c10::DispatchKey::ADInplaceOrView, c10::DispatchKey::AutogradFunctionality,
       c10::DispatchKey::AutocastCPU, c10::DispatchKey::Conjugate, c10::DispatchKey::Negative});
  return (tensor.key_set() - kBeside) == c10::DispatchKeySet(c10::DispatchKey::CPU) &&
         !tensor.has_symbolic_sizes_strides();
}

/// Whether LibTorch says which sizes and strides a tensor has. Nested tensors, those of symbolic
/// sizes and some classes of programs throw when queried.
[[nodiscard]] bool has_shape(const at::Tensor& tensor, c10::Layout layout) noexcept;

/// Whether a tensor's bytes are in memory that is read here.
[[nodiscard]] bool is_readable(const at::Tensor& tensor);

/// Of a dense tensor with a storage.
[[nodiscard]] Content content_of(const at::Tensor& tensor);

/// The same two, of a tensor whose geometry is known unless that is null.
[[nodiscard]] bool is_readable(const at::Tensor& tensor, const KnownGeometry* known);
[[nodiscard]] Content content_of(const at::Tensor& tensor, const KnownGeometry* known);

/// Packed bytes with conjugation and negation applied, by flipping sign bits. Valid until the next
/// call of this thread.
[[nodiscard]] std::span<const std::byte> resolved(Thread& thread, const Content& content);

[[nodiscard]] Digest digest_of(Thread& thread, const Content& content);
/// Zero where memory order is logical order.
[[nodiscard]] Digest logical_digest_of(const Content& content);

/// The address modulo 64.
[[nodiscard]] std::uint8_t alignment_of(const Content& content);

}  // namespace ulpscope::capture
