#include "capture/argument_reader.hpp"

namespace ulpscope::capture {
namespace {

void write_int(ArgumentWriter& writer, std::uint16_t index, std::int64_t value,
               const ArgumentInfo& info) {
  const auto small = static_cast<std::uint8_t>(value);
  if (info.dtype)
    writer.dtype(index, static_cast<Dtype>(small));
  else if (info.layout)
    writer.layout(index, small);
  else if (info.memory_format)
    writer.memory_format(index, small);
  else
    writer.integer(index, value);
}

/// A number in a list of mixed numbers, as float64.
double as_double(const c10::IValue& value) {
  if (value.isDouble()) return value.toDouble();
  if (value.isInt()) return static_cast<double>(value.toInt());
  if (value.isBool()) return value.toBool() ? 1 : 0;
  return 0;
}

void write_list(ArgumentWriter& writer, std::uint16_t index, const c10::IValue& value) {
  const auto items = value.toListRef();
  const auto all = [&](auto&& is) {
    for (const c10::IValue& item : items)
      if (!is(item)) return false;
    return true;
  };
  if (all([](const c10::IValue& item) { return item.isInt(); }))
    writer.int_list(index, items.size(), [&](std::size_t i) { return items[i].toInt(); });
  else if (all([](const c10::IValue& item) { return item.isBool(); }))
    writer.bool_list(index, items.size(), [&](std::size_t i) { return items[i].toBool(); });
  else if (all([](const c10::IValue& item) { return item.isDouble() || item.isInt(); }))
    writer.double_list(index, items.size(), [&](std::size_t i) { return as_double(items[i]); });
  else
    writer.opaque(index, value.tagKind());
}

}  // namespace

void write_argument(ArgumentWriter& writer, std::uint16_t index, const c10::IValue& value,
                    const ArgumentInfo& info) {
  if (value.isNone()) {
    writer.none(index);
  } else if (value.isInt()) {
    write_int(writer, index, value.toInt(), info);
  } else if (value.isDouble()) {
    writer.number(index, value.toDouble());
  } else if (value.isBool()) {
    writer.boolean(index, value.toBool());
  } else if (value.isComplexDouble()) {
    const c10::complex<double> number = value.toComplexDouble();
    writer.complex(index, number.real(), number.imag());
  } else if (value.isString()) {
    writer.string(index, value.toStringRef());
  } else if (value.isDevice()) {
    const c10::Device device = value.toDevice();
    writer.device(index, static_cast<std::uint8_t>(device.type()), device.index());
  } else if (value.isGenerator()) {
    const c10::Device device = value.toGenerator().device();
    writer.generator(index, static_cast<std::uint8_t>(device.type()), device.index());
  } else if (value.isList()) {
    write_list(writer, index, value);
  } else {
    writer.opaque(index, value.tagKind());
  }
}

}  // namespace ulpscope::capture
