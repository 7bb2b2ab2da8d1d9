#include "capture/content.hpp"

#include "capture/device_backend.hpp"
#include "capture/geometry_cache.hpp"
#include "capture/thread.hpp"

namespace ulpscope::capture {
namespace {

std::uint64_t mix(std::uint64_t hash, std::int64_t word) noexcept {
  hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 31);
}

}  // namespace

bool has_shape(const at::Tensor& tensor, c10::Layout layout) noexcept {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  if (impl.has_symbolic_sizes_strides() || impl.key_set().has(c10::DispatchKey::NestedTensor))
    return false;
  try {
    (void)impl.sizes();
    if (layout == c10::kStrided) (void)impl.strides();
    (void)impl.numel();
    return true;
  } catch (...) {
    return false;
  }
}

bool is_readable(const at::Tensor& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  if (kHostDevice == c10::DeviceType::CPU && is_ordinary(impl) && impl.unsafe_storage() &&
      impl.unsafe_storage().unsafeGetStorageImpl()->data() != nullptr)
    return has_shape(tensor, c10::kStrided);
  return tensor.device().type() == kHostDevice && tensor.layout() == c10::kStrided &&
         tensor.has_storage() && has_shape(tensor, c10::kStrided) &&
         (tensor.numel() == 0 || tensor.storage().unsafeGetStorageImpl()->data() != nullptr);
}

Content content_of(const at::Tensor& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const c10::StorageImpl& storage = *impl.unsafe_storage().unsafeGetStorageImpl();
  const std::size_t element_size = impl.itemsize();
  const c10::IntArrayRef sizes = impl.sizes();
  const c10::IntArrayRef strides = impl.strides();
  const auto elements = static_cast<std::size_t>(impl.numel());
  Content content;
  content.key.offset = static_cast<std::size_t>(impl.storage_offset()) * element_size;
  content.bytes = {.data = static_cast<const std::byte*>(storage.data()) + content.key.offset,
                   .element_size = element_size,
                   .sizes = {sizes.data(), sizes.size()},
                   .strides = {strides.data(), strides.size()}};
  content.dense = impl.is_non_overlapping_and_dense();
  content.contiguous = impl.is_contiguous();
  content.conj = tensor.is_conj();
  content.neg = tensor.is_neg();
  content.complex = tensor.is_complex();
  content.dense_size = elements * element_size;
  content.key.bytes = content.dense_size;
  if (!content.dense && elements > 0) {
    std::uint64_t pattern = 1;
    std::size_t last = 0;
    for (std::size_t i = 0; i < content.bytes.sizes.size(); ++i) {
      if (content.bytes.sizes[i] == 1) continue;
      pattern = mix(mix(pattern, content.bytes.sizes[i]), content.bytes.strides[i]);
      last += static_cast<std::size_t>((content.bytes.sizes[i] - 1) * content.bytes.strides[i]);
    }
    content.key.pattern = pattern | 1;
    content.key.bytes = (last + 1) * element_size;
  }
  if (content.conj || content.neg)
    content.key.pattern = mix(content.key.pattern | 1, content.conj ? 2 : 4) | 1;
  return content;
}

bool is_readable(const at::Tensor& tensor, const KnownGeometry* known) {
  const bool has_data = known != nullptr && kHostDevice == c10::DeviceType::CPU &&
                        tensor.storage().unsafeGetStorageImpl()->data() != nullptr;
  return has_data || is_readable(tensor);
}

Content content_of(const at::Tensor& tensor, const KnownGeometry* known) {
  if (known == nullptr) return content_of(tensor);
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const c10::StorageImpl& storage = *impl.unsafe_storage().unsafeGetStorageImpl();
  const c10::IntArrayRef sizes = impl.sizes();
  Content content = known->content;
  content.bytes.data = static_cast<const std::byte*>(storage.data()) + content.key.offset;
  content.bytes.sizes = {sizes.data(), sizes.size()};
  content.bytes.strides = {impl.strides().data(), sizes.size()};
  return content;
}

std::span<const std::byte> resolved(Thread& thread, const Content& content) {
  thread.packed.resize(packed_size(content.bytes));
  const std::size_t size = pack_in_memory_order(content.bytes, thread.packed);
  const std::size_t part = content.bytes.element_size / (content.complex ? 2 : 1);
  const bool flip_real = content.neg;
  const bool flip_imaginary = content.neg != content.conj;
  for (std::size_t at = 0, index = 0; at + part <= size && (content.conj || content.neg);
       at += part, ++index) {
    const bool imaginary = content.complex && index % 2 == 1;
    if (imaginary ? flip_imaginary : flip_real) thread.packed[at + part - 1] ^= std::byte{0x80};
  }
  return std::span(thread.packed).first(size);
}

Digest digest_of(Thread& thread, const Content& content) {
  if (content.plain()) return digest(content.span());
  if (content.conj || content.neg) return digest(resolved(thread, content));
  return digest_in_memory_order(content.bytes);
}

Digest logical_digest_of(const Content& content) {
  if (!content.plain() || content.contiguous || content.dense_size == 0) return {};
  return digest_in_logical_order(content.bytes);
}

std::uint8_t alignment_of(const Content& content) {
  return static_cast<std::uint8_t>(reinterpret_cast<std::uintptr_t>(content.bytes.data) % 64);
}

}  // namespace ulpscope::capture
