#include "capture/injection_target.hpp"

#include <algorithm>
#include <array>
#include <mutex>

#include "capture/device_backend.hpp"
#include "capture/device_values.hpp"
#include "capture/memory.hpp"
#include "capture/reference_values.hpp"
#include "capture/sent_content.hpp"
#include "core/walk.hpp"

namespace ulpscope::capture {
namespace {

namespace injection = ring::injection;

/// Where the elements of a tensor with gaps are, in the order in which they are packed.
template <class Visit>
bool visit_pieces(const StridedBytes& bytes, Visit&& visit) {
  const core::Walk walk(bytes, core::Order::memory);
  const auto loops = walk.loops();
  std::pmr::vector<std::size_t> at(loops.size(), 0, &process_memory());
  while (true) {
    std::ptrdiff_t offset = 0;
    for (std::size_t k = 0; k < loops.size(); ++k)
      offset += static_cast<std::ptrdiff_t>(at[k]) * loops[k].stride;
    if (!visit(iovec{const_cast<std::byte*>(bytes.data) + offset, walk.run_bytes()})) return false;
    std::size_t k = loops.size();
    while (k > 0 && ++at[k - 1] == loops[k - 1].count) at[--k] = 0;
    if (k == 0) return true;
  }
}

}  // namespace

bool InjectionTarget::can_be(const at::Tensor& tensor) {
  return tensor.defined() && (is_readable(tensor) || is_on_device(tensor)) &&
         !tensor.is_quantized() && !tensor.unsafeGetTensorImpl()->is_wrapped_number();
}

std::optional<Digest> InjectionTarget::digest() {
  if (is_readable(tensor_)) return digest_of_value(thread_, tensor_, content_);
  const std::span<std::byte> bytes = scratch();
  if (!content_.plain() || !copy(bytes.data(), memory())) return std::nullopt;
  return ulpscope::digest(bytes);
}

bool InjectionTarget::fill(const injection::Value& value) {
  const auto packed = packed_strides(content_.bytes.sizes, content_.bytes.strides);
  if (!takes(value, packed)) return false;
  if (is_readable(tensor_)) return content_.dense ? fill_at_once(value) : fill_in_pieces(value);
  const std::span<std::byte> bytes = scratch();
  std::array<iovec, 1> whole{{{bytes.data(), bytes.size()}}};
  return content_.dense && ValueFile().read(value.offset, whole) && copy(memory(), bytes.data());
}

bool InjectionTarget::takes(const injection::Value& value,
                            std::span<const std::int64_t> packed) const {
  if (value.offset == 0 || content_.conj || content_.neg) return false;
  const auto dtype = static_cast<std::int8_t>(tensor_.scalar_type());
  if (injection::layout_of(dtype, content_.bytes.sizes, packed) != value.layout ||
      packed_size(content_.bytes) != value.bytes)
    return false;
  const std::lock_guard guard(storages());
  return !storages().at(*tensor_.storage().unsafeGetStorageImpl()).foreign;
}

std::span<std::byte> InjectionTarget::scratch() {
  thread_.packed.resize(std::max(thread_.packed.size(), content_.dense_size));
  return std::span(thread_.packed).first(content_.dense_size);
}

bool InjectionTarget::copy(void* to, const void* from) const {
  DeviceBackend* const backend = device_backend();
  return backend != nullptr &&
         backend->copy(to, from, content_.dense_size, tensor_.device().index());
}

bool InjectionTarget::fill_at_once(const injection::Value& value) const {
  std::array<iovec, 1> whole{{{memory(), content_.dense_size}}};
  return ValueFile().read(value.offset, whole);
}

bool InjectionTarget::fill_in_pieces(const injection::Value& value) const {
  const ValueFile file;
  std::array<iovec, 256> pieces{};
  std::size_t count = 0;
  std::uint64_t offset = value.offset;
  const auto flush = [&] {
    std::uint64_t bytes = 0;
    for (std::size_t k = 0; k < count; ++k) bytes += pieces[k].iov_len;
    const bool done = file.read(offset, std::span(pieces).first(count));
    offset += bytes;
    count = 0;
    return done;
  };
  const bool visited = visit_pieces(content_.bytes, [&](const iovec& piece) {
    pieces[count++] = piece;
    return count < pieces.size() || flush();
  });
  return visited && (count == 0 || flush());
}

}  // namespace ulpscope::capture
