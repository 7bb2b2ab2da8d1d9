#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "core/argument_codec.hpp"
#include "core/decimal.hpp"
#include "core/field_reader.hpp"
#include "core/torch_names.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope {
namespace {

std::string memory_format_text(std::uint8_t format) {
  static constexpr std::array<std::string_view, 4> kNames{"contiguous_format", "preserve_format",
                                                          "channels_last", "channels_last_3d"};
  if (format < kNames.size()) return std::string(kNames[format]);
  return "memory_format" + std::to_string(format);
}

std::string number_text(double value) { return core::shortest(value, core::Integral::with_point); }

std::string bool_text(std::uint8_t value) { return value != 0 ? "True" : "False"; }

std::string quoted(const std::string& text) { return '\'' + text + '\''; }

/// "[1, 2]" from the elements that `read_element` returns, each at least `smallest` bytes.
template <class ReadElement>
std::string list_text(FieldReader& reader, std::size_t smallest, ReadElement&& read_element) {
  const auto count = reader.read<std::uint32_t>();
  if (!reader.has(count, smallest)) return {};
  std::string text = "[";
  for (std::uint32_t i = 0; i < count && reader.good(); ++i) {
    if (i > 0) text += ", ";
    text += read_element();
  }
  return text + ']';
}

std::string long_list_text(FieldReader& reader) {
  const auto count = reader.read<std::uint32_t>();
  Digest digest;
  digest.high = reader.read<std::uint64_t>();
  digest.low = reader.read<std::uint64_t>();
  return '[' + std::to_string(count) + " elements, digest " + to_string(digest) + ']';
}

/// The text of one item; empty for a tag that this version does not know. Whether its bytes were
/// all there is for the reader to say.
std::optional<std::string> item_text(ArgumentTag tag, FieldReader& reader) {
  switch (tag) {
    case ArgumentTag::none:
      return "None";
    case ArgumentTag::int_:
      return std::to_string(reader.read<std::int64_t>());
    case ArgumentTag::double_:
      return number_text(reader.read<double>());
    case ArgumentTag::bool_:
      return bool_text(reader.read<std::uint8_t>());
    case ArgumentTag::complex_: {
      const auto real = reader.read<double>();
      return core::join_complex(core::shortest(real), core::shortest(reader.read<double>()));
    }
    case ArgumentTag::string:
      return quoted(reader.read_string());
    case ArgumentTag::dtype:
      return std::string(name(static_cast<Dtype>(reader.read<std::uint8_t>())));
    case ArgumentTag::layout:
      return core::layout_name(reader.read<std::uint8_t>());
    case ArgumentTag::memory_format:
      return memory_format_text(reader.read<std::uint8_t>());
    case ArgumentTag::device: {
      const auto type = reader.read<std::uint8_t>();
      return core::device_name(type, reader.read<std::int8_t>());
    }
    case ArgumentTag::generator: {
      const auto type = reader.read<std::uint8_t>();
      return "Generator(" + core::device_name(type, reader.read<std::int8_t>()) + ')';
    }
    case ArgumentTag::int_list:
      return list_text(reader, 8, [&] { return std::to_string(reader.read<std::int64_t>()); });
    case ArgumentTag::double_list:
      return list_text(reader, 8, [&] { return number_text(reader.read<double>()); });
    case ArgumentTag::bool_list:
      return list_text(reader, 1, [&] { return bool_text(reader.read<std::uint8_t>()); });
    case ArgumentTag::string_list:
      return list_text(reader, 4, [&] { return quoted(reader.read_string()); });
    case ArgumentTag::opaque:
      return '<' + reader.read_string() + '>';
    case ArgumentTag::long_list:
      return long_list_text(reader);
  }
  return std::nullopt;
}

}  // namespace

std::vector<Argument> arguments(const Event& event) {
  std::vector<Argument> decoded;
  FieldReader reader(event.argument_bytes);
  while (!reader.at_end()) {
    const auto place = reader.read<std::uint16_t>();
    const auto tag = static_cast<ArgumentTag>(reader.read<std::uint8_t>());
    std::optional<std::string> text = item_text(tag, reader);
    if (!text || !reader.good()) break;
    Argument argument;
    argument.result = (place & kArgumentResult) != 0;
    argument.index = static_cast<std::uint16_t>(place & ~kArgumentResult);
    argument.name =
        core::nth_name(argument.result ? event.return_names : event.argument_names, argument.index);
    argument.text = std::move(*text);
    decoded.push_back(std::move(argument));
  }
  return decoded;
}

}  // namespace ulpscope
