#include <cstring>

#include "tests/support/run_builder.hpp"

namespace ulpscope::test {

Tensor RunBuilder::data(const Values& values) { return make(values, {}, 0); }

Tensor RunBuilder::parameter(std::string name, const Values& values) {
  return make(values, std::move(name), slot_flag::parameter);
}

Tensor RunBuilder::buffer(std::string name, const Values& values) {
  return make(values, std::move(name), slot_flag::buffer);
}

Tensor RunBuilder::view(const Tensor& of, std::vector<std::int64_t> sizes,
                        std::vector<std::int64_t> strides, std::int64_t offset) const {
  Tensor result = of;
  result.geometry.sizes = std::move(sizes);
  result.geometry.strides = std::move(strides);
  result.geometry.storage_offset = offset;
  return result;
}

void RunBuilder::name_storage(const Tensor& tensor, std::string name, std::uint32_t flags) {
  storages_.at(tensor.storage).name = std::move(name);
  storages_.at(tensor.storage).flags |= flags;
}

void RunBuilder::overwrite(const Tensor& tensor, const Values& values, bool unnoticed) {
  auto& storage = storages_.at(tensor.storage);
  store(tensor, values);
  storage.changed = !unnoticed && (storage.writer != kNone || storage.writes > 0);
  storage.uninitialised = false;
}

Tensor RunBuilder::make(const Values& values, std::string name, std::uint32_t flags) {
  Tensor tensor;
  tensor.storage = next_storage_++;
  tensor.geometry.dtype = values.dtype;
  tensor.geometry.sizes = values.shape;
  tensor.geometry.strides = detail::row_major(values.shape);
  tensor.geometry.flags = geometry_flag::dense | geometry_flag::contiguous;
  auto& storage = storages_[tensor.storage];
  storage.bytes = detail::bytes_of(values);
  storage.name = std::move(name);
  storage.flags = flags;
  return tensor;
}

void RunBuilder::store(const Tensor& tensor, const Values& values) {
  const auto bytes = detail::bytes_of(values.as(tensor.geometry.dtype));
  const std::size_t element = element_size(tensor.geometry.dtype);
  auto& target = storages_.at(tensor.storage).bytes;
  const auto& sizes = tensor.geometry.sizes;
  std::vector<std::int64_t> index(sizes.size(), 0);
  for (std::size_t at = 0; at + element <= bytes.size(); at += element) {
    std::int64_t offset = tensor.geometry.storage_offset;
    for (std::size_t d = 0; d < sizes.size(); ++d) offset += index[d] * tensor.geometry.strides[d];
    std::memcpy(target.data() + static_cast<std::size_t>(offset) * element, bytes.data() + at,
                element);
    for (std::size_t d = sizes.size(); d-- > 0;) {
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
    }
  }
}

}  // namespace ulpscope::test
