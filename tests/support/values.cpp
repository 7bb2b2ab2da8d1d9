#include "tests/support/values.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace ulpscope::test {

Values::Values(std::initializer_list<double> list) : Values(std::vector<double>(list)) {}

Values::Values(std::vector<double> list)
    : numbers(std::move(list)), shape{static_cast<std::int64_t>(numbers.size())} {}

Values::Values(std::vector<std::int64_t> sizes, std::vector<double> list)
    : numbers(std::move(list)), shape(std::move(sizes)) {}

Values::Values(const Values&) = default;
Values::Values(Values&&) noexcept = default;
Values& Values::operator=(const Values&) = default;
Values& Values::operator=(Values&&) noexcept = default;
Values::~Values() = default;

Values Values::as(Dtype type) const {
  Values result = *this;
  result.dtype = type;
  return result;
}

Values labelled(std::string_view label, std::size_t count) {
  std::vector<double> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t hash = 2166136261U + static_cast<std::uint32_t>(i) * 7919U;
    for (const char c : label) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    numbers.push_back(static_cast<double>(hash % 100003U) / 1024.0);
  }
  return Values(std::move(numbers));
}

namespace detail {

std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t d = sizes.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<std::int64_t>(sizes[d], 1);
  return strides;
}

std::vector<std::byte> bytes_of(const Values& values) {
  std::vector<std::byte> bytes;
  const auto put = [&](const auto& number) {
    const auto* begin = reinterpret_cast<const std::byte*>(&number);
    bytes.insert(bytes.end(), begin, begin + sizeof(number));
  };
  for (const double number : values.numbers) {
    if (values.dtype == Dtype::float64)
      put(number);
    else if (values.dtype == Dtype::int64)
      put(static_cast<std::int64_t>(number));
    else if (values.dtype == Dtype::bfloat16)
      put(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(number)) >>
                                     16));  // truncated
    else
      put(static_cast<float>(number));
  }
  return bytes;
}

}  // namespace detail

}  // namespace ulpscope::test
