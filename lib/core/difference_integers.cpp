#include "core/difference_block.hpp"
#include "core/kernel_level.hpp"

namespace ulpscope::core {

DifferenceKernel ULPSCOPE_KERNEL(integer_kernel_)(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::uint8:
    case Dtype::quint8:
    case Dtype::bool_:
      return &kernel<IntegerFormat<std::uint8_t>>;
    case Dtype::int8:
    case Dtype::qint8:
      return &kernel<IntegerFormat<std::int8_t>>;
    case Dtype::uint16:
      return &kernel<IntegerFormat<std::uint16_t>>;
    case Dtype::int16:
      return &kernel<IntegerFormat<std::int16_t>>;
    case Dtype::uint32:
      return &kernel<IntegerFormat<std::uint32_t>>;
    case Dtype::int32:
    case Dtype::qint32:
      return &kernel<IntegerFormat<std::int32_t>>;
    case Dtype::uint64:
      return &kernel<IntegerFormat<std::uint64_t>>;
    case Dtype::int64:
      return &kernel<IntegerFormat<std::int64_t>>;
    default:
      return nullptr;
  }
}

}  // namespace ulpscope::core
