#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "core/argument_codec.hpp"
#include "core/decimal.hpp"
#include "core/field_reader.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope {
namespace {

template <std::size_t Count>
std::string named(const std::array<std::string_view, Count>& names, std::uint8_t number,
                  std::string_view kind) {
  if (number < Count) return std::string(names[number]);
  return std::string(kind) + std::to_string(number);
}

std::string layout_text(std::uint8_t layout) {
  static constexpr std::array<std::string_view, 8> kNames{"strided",    "sparse_coo", "sparse_csr",
                                                          "_mkldnn",    "sparse_csc", "sparse_bsr",
                                                          "sparse_bsc", "jagged"};
  return named(kNames, layout, "layout");
}

std::string memory_format_text(std::uint8_t format) {
  static constexpr std::array<std::string_view, 4> kNames{"contiguous_format", "preserve_format",
                                                          "channels_last", "channels_last_3d"};
  return named(kNames, format, "memory_format");
}

std::string device_text(std::uint8_t type, std::int8_t index) {
  static constexpr std::array<std::string_view, 21> kNames{
      "cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
      "fpga", "maia", "xla",    "vulkan", "metal",  "xpu",   "mps",
      "meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",  "privateuseone"};
  std::string text = named(kNames, type, "device");
  if (index >= 0) text += ':' + std::to_string(index);
  return text;
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
      return layout_text(reader.read<std::uint8_t>());
    case ArgumentTag::memory_format:
      return memory_format_text(reader.read<std::uint8_t>());
    case ArgumentTag::device: {
      const auto type = reader.read<std::uint8_t>();
      return device_text(type, reader.read<std::int8_t>());
    }
    case ArgumentTag::generator: {
      const auto type = reader.read<std::uint8_t>();
      return "Generator(" + device_text(type, reader.read<std::int8_t>()) + ')';
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

/// The `index`-th of comma-joined names; empty if there are fewer.
std::string_view nth_name(std::string_view joined, std::size_t index) {
  for (; index > 0; --index) {
    const std::size_t comma = joined.find(',');
    if (comma == std::string_view::npos) return {};
    joined.remove_prefix(comma + 1);
  }
  return joined.substr(0, joined.find(','));
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
        nth_name(argument.result ? event.return_names : event.argument_names, argument.index);
    argument.text = std::move(*text);
    decoded.push_back(std::move(argument));
  }
  return decoded;
}

}  // namespace ulpscope
