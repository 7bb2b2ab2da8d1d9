#include "replay/tensors.hpp"

#include <ATen/Functions.h>
#include <c10/core/MemoryFormat.h>

#include <cstring>
#include <memory>

#include "core/elements.hpp"
#include "replay/gpu.hpp"
#include "replay/precision.hpp"
#include "replay/refuse.hpp"

namespace ulpscope::replay {
namespace {

using Sizes = std::vector<std::int64_t>;

constexpr std::size_t kAlignment = 64;  ///< of what LibTorch allocates on the CPU

/// Elements that the strides reach, from the first on.
std::int64_t reach(const Sizes& sizes, const Sizes& strides) {
  if (strides.size() != sizes.size()) refuse("sizes and strides do not fit");
  std::int64_t last = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 0 || strides[d] < 0) refuse("a size is negative");
    if (sizes[d] == 0) return 0;
    std::int64_t step = 0;
    if (__builtin_mul_overflow(sizes[d] - 1, strides[d], &step) ||
        __builtin_add_overflow(last, step, &last))
      refuse("a tensor is larger than memory");
  }
  return last + 1;
}

/// The bytes as they came: without gaps, aligned.
at::Tensor packed(const ReplayTensor& given, c10::ScalarType type) {
  at::Tensor flat =
      at::empty({reach(given.sizes, given.strides)}, static_cast<c10::ScalarType>(given.dtype));
  if (given.bytes.empty())
    flat.zero_();
  else if (given.bytes.size() != flat.nbytes())
    refuse("a tensor has not as many bytes as elements");
  else
    std::memcpy(flat.mutable_data_ptr(), given.bytes.data(), given.bytes.size());
  return at::as_strided(flat.to(type), given.sizes, given.strides);
}

/// Memory for so many elements that begins `alignment` bytes after a multiple of 64.
at::Tensor memory_at(std::size_t alignment, std::int64_t elements, c10::ScalarType type) {
  const std::size_t size = c10::elementSize(type);
  if (alignment % size == 0)
    return at::zeros({elements + static_cast<std::int64_t>(alignment / size)}, type)
        .narrow(0, static_cast<std::int64_t>(alignment / size), elements);
  const auto bytes = std::make_shared<at::Tensor>(
      at::zeros({static_cast<std::int64_t>(alignment + size * static_cast<std::size_t>(elements))},
                c10::ScalarType::Byte));
  return at::from_blob(
      static_cast<std::byte*>(bytes->mutable_data_ptr()) + alignment, {elements}, [bytes](void*) {},
      at::TensorOptions().dtype(type));
}

/// With the strides and the alignment that it had in the program.
at::Tensor as_recorded(const ReplayTensor& given, std::size_t alignment) {
  const auto type = static_cast<c10::ScalarType>(given.dtype);
  const Sizes& strides = given.memory_strides.empty() ? given.strides : given.memory_strides;
  const std::int64_t elements = reach(given.sizes, strides);
  const at::Tensor source = packed(given, type);
  const at::Tensor memory = memory_at(alignment, elements, type);
  auto* const target = static_cast<std::byte*>(memory.mutable_data_ptr());
  const auto* const from = static_cast<const std::byte*>(source.const_data_ptr());
  const std::size_t size = memory.element_size();
  if (strides == given.strides) {
    if (elements > 0) std::memcpy(target, from, static_cast<std::size_t>(elements) * size);
  } else {
    core::for_each_element<2>(given.sizes, {given.strides, strides},
                              [&](std::int64_t read, std::int64_t write) {
                                std::memcpy(target + static_cast<std::size_t>(write) * size,
                                            from + static_cast<std::size_t>(read) * size, size);
                              });
  }
  return at::as_strided(memory, given.sizes, strides, memory.storage_offset());
}

/// The same on a GPU: as far from a multiple of 64 bytes, and with the same strides.
at::Tensor on_gpu(const at::Tensor& tensor, int number) {
  const Sizes sizes = tensor.sizes().vec();
  const Sizes strides = tensor.strides().vec();
  const std::int64_t elements = reach(sizes, strides);
  const std::size_t size = tensor.element_size();
  const std::size_t offset =
      reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % kAlignment;  // GPUs allocate at 0
  if (offset % size != 0) refuse("an input begins between two elements");
  const auto before = static_cast<std::int64_t>(offset / size);
  const at::Tensor memory = at::zeros({before + elements}, tensor.options().device(gpu(number)))
                                .narrow(0, before, elements);
  memory.copy_(at::as_strided(tensor, {elements}, {1}, tensor.storage_offset()));
  return at::as_strided(memory, sizes, strides, memory.storage_offset());
}

at::Tensor laid_out(const ReplayTensor& given, const ReplayConditions& conditions) {
  switch (conditions.layout) {
    case TensorLayout::packed:
      break;
    case TensorLayout::recorded:
      return as_recorded(given, conditions.alignment.value_or(given.alignment) % kAlignment);
    case TensorLayout::contiguous:
      return packed(given, static_cast<c10::ScalarType>(given.dtype)).contiguous();
    case TensorLayout::channels_last:
      if (given.sizes.size() == 4)
        return as_recorded(given, given.alignment).contiguous(c10::MemoryFormat::ChannelsLast);
      if (given.sizes.size() == 5)
        return as_recorded(given, given.alignment).contiguous(c10::MemoryFormat::ChannelsLast3d);
      return as_recorded(given, given.alignment);
  }
  return packed(given, static_cast<c10::ScalarType>(given.dtype));
}

}  // namespace

at::Tensor to_tensor(const ReplayTensor& given, Precision precision,
                     const ReplayConditions& conditions) {
  if (!given.defined) return {};
  at::Tensor tensor = precision == Precision::recorded
                          ? laid_out(given, conditions)
                          : packed(given, computing_type(given.dtype, precision));
  if (conditions.on_gpu && given.gpu != ReplayTensor::kOnCpu) tensor = on_gpu(tensor, given.gpu);
  if (given.has_rows && conditions.first_rows > 0 && tensor.dim() > 0 &&
      tensor.size(0) > conditions.first_rows)
    tensor = tensor.narrow(0, 0, conditions.first_rows);
  if (given.wrapped_number && precision == Precision::recorded)
    tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

ReplayTensor from_tensor(ReplayTensor place, const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.layout() != c10::kStrided) refuse("a result is no dense tensor");
  const at::Tensor packed = tensor.detach().resolve_conj().resolve_neg().contiguous().cpu();
  place.dtype = static_cast<Dtype>(packed.scalar_type());
  place.sizes = packed.sizes().vec();
  place.strides = packed.strides().vec();
  place.bytes.resize(packed.nbytes());
  if (!place.bytes.empty())
    std::memcpy(place.bytes.data(), packed.const_data_ptr(), place.bytes.size());
  return place;
}

}  // namespace ulpscope::replay
