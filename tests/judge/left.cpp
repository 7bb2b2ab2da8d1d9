#include "left.hpp"

#include <ATen/CPUGeneratorImpl.h>

#include <array>
#include <cstdio>
#include <vector>

namespace judge {

void Left::add(const void* data, std::size_t bytes) {
  const auto* const byte = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) digest_ = (digest_ ^ byte[i]) * 0x100000001b3;
}

void Left::add(const at::Tensor& tensor) {
  if (!tensor.defined()) return add(std::int64_t{-1});
  add(static_cast<std::int64_t>(tensor.scalar_type()));
  add(tensor.dim());
  for (const std::int64_t size : tensor.sizes()) add(size);
  if (tensor.numel() == 0) return;
  const std::size_t bytes = tensor.itemsize();
  const auto* const begin = static_cast<const unsigned char*>(tensor.const_data_ptr());
  std::vector<std::int64_t> index(static_cast<std::size_t>(tensor.dim()), 0);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < index.size(); ++d)
      offset += index[d] * tensor.stride(static_cast<std::int64_t>(d));
    add(begin + static_cast<std::size_t>(offset) * bytes, bytes);
    for (std::size_t d = index.size(); d-- > 0;) {
      if (++index[d] < tensor.size(static_cast<std::int64_t>(d))) break;
      index[d] = 0;
    }
  }
}

void Left::add(const at::Generator& generator) {
  auto* const cpu = generator.get<at::CPUGeneratorImpl>();
  const auto state = cpu->engine().data();
  add(static_cast<std::int64_t>(state.left_));
  add(static_cast<std::int64_t>(state.next_));
  add(state.state_.data(), sizeof state.state_);
  add(static_cast<double>(cpu->next_float_normal_sample().value_or(-1)));
  add(cpu->next_double_normal_sample().value_or(-1));
}

bool Left::has_drawn(const at::Generator& generator) {
  auto* const cpu = generator.get<at::CPUGeneratorImpl>();
  const auto now = cpu->engine().data(), fresh = at::mt19937(cpu->current_seed()).data();
  return now.left_ != fresh.left_ || now.next_ != fresh.next_ || now.state_ != fresh.state_;
}

std::string Left::text() const {
  std::array<char, 17> out{};
  std::snprintf(out.data(), out.size(), "%016llx", static_cast<unsigned long long>(digest_));
  return out.data();
}

void Contents::add(const at::Tensor& tensor) {
  if (!tensor.defined()) return;
  Left value;
  value.add(tensor);
  Left memory;
  memory.add(tensor.storage().data(), tensor.storage().nbytes());
  // The storage of a reduced number can be larger than what the reduction has written.
  digests_.insert((tensor.dim() == 0 ? value : memory).text() + ':' + value.text());
  if (tensor.is_leaf()) add(tensor.grad());
}

std::string Contents::text_without(const Contents& others) const {
  Left all;
  for (const std::string& digest : digests_)
    if (!others.digests_.contains(digest)) all.add(digest.data(), digest.size());
  return all.text();
}

std::string Contents::list() const {
  std::string text = "[";
  for (const std::string& digest : digests_) {
    if (text.size() > 1) text += ", ";
    text += '"' + digest + '"';
  }
  return text + "]";
}

}  // namespace judge
