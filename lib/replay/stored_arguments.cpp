#include "replay/stored_arguments.hpp"

#include <ATen/core/List.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <string>

#include "core/argument_codec.hpp"
#include "core/field_reader.hpp"
#include "replay/gpu.hpp"
#include "replay/precision.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::replay {
namespace {

template <class Element, class Read>
c10::IValue list(FieldReader& reader, std::size_t smallest, Read&& read) {
  const auto count = reader.read<std::uint32_t>();
  c10::List<Element> elements;
  if (!reader.has(count, smallest)) return elements;
  for (std::uint32_t i = 0; i < count; ++i) elements.push_back(read());
  return elements;
}

c10::Device device(FieldReader& reader, bool on_gpu) {
  const auto type = static_cast<c10::DeviceType>(reader.read<std::uint8_t>());
  const auto index = reader.read<std::int8_t>();
  return on_gpu && type == c10::kCUDA ? gpu(std::max<int>(index, 0)) : c10::Device(c10::kCPU);
}

c10::IValue value_of(ArgumentTag tag, FieldReader& reader, Precision precision, bool on_gpu) {
  switch (tag) {
    case ArgumentTag::none:
      return {};
    case ArgumentTag::int_:
      return reader.read<std::int64_t>();
    case ArgumentTag::double_:
      return reader.read<double>();
    case ArgumentTag::bool_:
      return reader.read<std::uint8_t>() != 0;
    case ArgumentTag::complex_: {
      const auto real = reader.read<double>();
      return c10::complex<double>(real, reader.read<double>());
    }
    case ArgumentTag::string:
      return reader.read_string();
    case ArgumentTag::dtype:
      return static_cast<std::int64_t>(
          computing_type(static_cast<Dtype>(reader.read<std::uint8_t>()), precision));
    case ArgumentTag::layout:
    case ArgumentTag::memory_format:
      return static_cast<std::int64_t>(reader.read<std::uint8_t>());
    case ArgumentTag::device:
      return device(reader, on_gpu);
    case ArgumentTag::int_list:
      return list<std::int64_t>(reader, sizeof(std::int64_t),
                                [&] { return reader.read<std::int64_t>(); });
    case ArgumentTag::double_list:
      return list<double>(reader, sizeof(double), [&] { return reader.read<double>(); });
    case ArgumentTag::bool_list:
      return list<bool>(reader, 1, [&] { return reader.read<std::uint8_t>() != 0; });
    case ArgumentTag::string_list:
      return list<std::string>(reader, sizeof(std::uint32_t), [&] { return reader.read_string(); });
    case ArgumentTag::generator:
      device(reader, on_gpu);
      return {};
    case ArgumentTag::opaque:
    case ArgumentTag::long_list:
      break;
  }
  throw Error(ErrorCode::usage, "an argument's value was not recorded");
}

}  // namespace

std::map<std::size_t, c10::IValue> stored_arguments(std::span<const std::byte> bytes,
                                                    Precision precision, bool on_gpu) {
  std::map<std::size_t, c10::IValue> arguments;
  FieldReader reader(bytes);
  while (!reader.at_end()) {
    const auto place = reader.read<std::uint16_t>();
    const auto tag = static_cast<ArgumentTag>(reader.read<std::uint8_t>());
    if (place & kArgumentResult) break;  // results follow arguments
    c10::IValue value = value_of(tag, reader, precision, on_gpu);
    if (!reader.good()) throw Error(ErrorCode::corrupt, "the arguments are damaged");
    arguments.insert_or_assign(place, std::move(value));
  }
  return arguments;
}

}  // namespace ulpscope::replay
