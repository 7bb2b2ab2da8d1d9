#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "capture/content.hpp"

namespace ulpscope::capture {

/// What follows from a tensor's geometry alone.
struct KnownGeometry {
  std::uint32_t number = 0;  ///< in the ring
  Content content;           ///< without the address of its bytes, its sizes and its strides
};

/// What was found out about the geometries that tensors have most, found again by a few of the
/// words in which they differ.
class GeometryCache {
 public:
  explicit GeometryCache(std::pmr::memory_resource* memory) : entries_(kEntries, memory) {}

  /// Whether what is found out about a tensor can be kept: it is nothing but strided memory of the
  /// CPU and of LibTorch's own class, and has few dimensions.
  [[nodiscard]] static bool keeps(const c10::TensorImpl& tensor) noexcept {
    return is_ordinary(tensor) && &typeid(tensor) == &typeid(c10::TensorImpl) &&
           tensor.dim() <= static_cast<std::int64_t>(kMostDimensions);
  }

  /// Null if it is not known. @pre keeps(tensor). Valid until remember().
  [[nodiscard]] const KnownGeometry* find(const c10::TensorImpl& tensor) const noexcept;
  const KnownGeometry& remember(const c10::TensorImpl& tensor, const KnownGeometry& known);

 private:
  static constexpr unsigned kBits = 9;
  static constexpr std::size_t kEntries = std::size_t{1} << kBits;
  static constexpr std::size_t kMostDimensions = 5;

  struct Entry {
    std::uint64_t keys = 0;  ///< of dispatch; 0: free
    caffe2::TypeMeta dtype;
    c10::Device device{c10::DeviceType::CPU};
    std::uint32_t dimensions = 0;
    std::int64_t storage_offset = 0;
    std::array<std::int64_t, 2 * kMostDimensions> words{};  ///< sizes and strides in turn
    KnownGeometry known;
  };

  /// Tensors of the same size are often each other's transposes.
  [[nodiscard]] static std::size_t place_of(const c10::TensorImpl& tensor,
                                            c10::IntArrayRef sizes) noexcept {
    auto mixed = static_cast<std::uint64_t>(tensor.numel()) ^
                 static_cast<std::uint64_t>(tensor.storage_offset()) << 20 ^ sizes.size() << 60;
    if (!sizes.empty())
      mixed ^= static_cast<std::uint64_t>(sizes[0]) << 12 ^
               static_cast<std::uint64_t>(tensor.strides()[0]) << 36;
    return mixed * 0x9e3779b97f4a7c15ULL >> (64 - kBits);
  }

  std::pmr::vector<Entry> entries_;
};

}  // namespace ulpscope::capture
