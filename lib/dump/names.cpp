#include "dump/names.hpp"

#include <array>
#include <charconv>

#include "core/demangled.hpp"
#include "dump/bytes.hpp"

namespace ulpscope::dump {
namespace {

constexpr std::uint32_t kHighestId = 1U << 22;
constexpr std::uint32_t kLongestString = 1U << 20;
constexpr std::uint32_t kMostFrames = 256;
constexpr std::uint8_t kMostDimensions = 64;  // PyTorch's own limit

}  // namespace

std::uint32_t Pool::add(std::string_view bytes) {
  if (const auto found = ids_.find(bytes); found != ids_.end()) return found->second;
  const auto id = static_cast<std::uint32_t>(items_.size() + 1);
  const auto [item, added] = ids_.emplace(bytes, id);
  items_.push_back(&item->first);
  return id;
}

Geometry geometry_of(std::string_view bytes) {
  ByteReader reader(bytes_of(bytes));
  const auto name = reader.get<GeometryName>();
  Geometry geometry;
  geometry.dtype = static_cast<Dtype>(name.dtype);
  geometry.device_type = name.device_type;
  geometry.device_index = name.device_index;
  geometry.layout = name.layout;
  geometry.flags = name.flags;
  geometry.storage_offset = name.storage_offset;
  for (int i = 0; i < name.dimensions; ++i) geometry.sizes.push_back(reader.get<std::int64_t>());
  for (int i = 0; i < name.dimensions * name.has_strides; ++i) {
    geometry.strides.push_back(reader.get<std::int64_t>());
  }
  return geometry;
}

std::string_view RankNames::op_text(std::uint32_t id) const {
  if (id == 0) return {};
  return strings.at(ByteReader(bytes_of(ops.at(id))).get<OpName>().name);
}

const std::string& FrameTexts::text(std::string_view object, std::uint64_t offset) {
  const auto [item, added] = texts_.try_emplace({std::string(object), offset});
  if (!added) return item->second;
  std::string& text = item->second;
  if (resolve_) text = resolve_(object, offset);
  if (text.empty()) {
    std::array<char, 16> digits{};
    const auto [end, error] =
        std::to_chars(digits.data(), digits.data() + digits.size(), offset, 16);
    text = std::string(object) + "+0x" + std::string(digits.data(), end);
  }
  return text;
}

std::optional<std::string> RingNames::define(std::span<const std::byte> message) {
  switch (ByteReader(message).get<ring::MessageHeader>().kind) {
    case ring::MessageKind::string:
      return define_string(message);
    case ring::MessageKind::op:
      return define_op(message);
    case ring::MessageKind::geometry:
      return define_geometry(message);
    case ring::MessageKind::stack:
      return define_stack(message);
    default:
      return "it sent a definition of an unknown kind";
  }
}

std::optional<std::string> RingNames::set(std::vector<std::uint32_t>& ids, std::uint32_t id,
                                          std::uint32_t rank_id,
                                          std::span<const std::byte> message) {
  if (id == 0 || id > kHighestId) return "it defined an id out of range";
  if (ids.size() <= id) ids.resize(std::size_t{id} + 1);
  if (ids[id] == rank_id) return std::nullopt;
  if (ids[id] != 0) return "it defined one id twice";
  ids[id] = rank_id;
  definitions_.insert(definitions_.end(), message.begin(), message.end());
  return std::nullopt;
}

std::optional<std::string> RingNames::define_string(std::span<const std::byte> message) {
  ByteReader reader(message);
  const auto head = reader.get<ring::StringMessage>();
  const auto text = reader.get_bytes(head.length);
  if (!reader.ok() || head.length > kLongestString) return "it sent a string with a wrong length";
  return set(strings_, head.id, names_.strings.add(text_of(text)), message);
}

/// A kernel comes by its linkage name.
std::uint32_t RingNames::op_name(std::uint32_t id) {
  const std::uint32_t sent = string(id);
  return sent == 0 ? 0 : names_.strings.add(demangled(std::string(names_.strings.at(sent))));
}

std::optional<std::string> RingNames::define_op(std::span<const std::byte> message) {
  ByteReader reader(message);
  const auto head = reader.get<ring::OpMessage>();
  if (!reader.ok()) return "it sent an op that is too short";
  for (const std::uint32_t id :
       {head.name, head.overload, head.argument_names, head.return_names}) {
    if (!has_string(id)) return "it named an op by a string that was never defined";
  }
  const OpName name{op_name(head.name), string(head.overload), string(head.argument_names),
                    string(head.return_names)};
  return set(ops_, head.id, names_.ops.add(text_of(bytes_of(name))), message);
}

std::optional<std::string> RingNames::define_geometry(std::span<const std::byte> message) {
  ByteReader reader(message);
  const auto head = reader.get<ring::GeometryMessage>();
  if (head.dimensions > kMostDimensions || head.has_strides > 1) {
    return "it sent a geometry with too many dimensions";
  }
  const auto dimensions =
      reader.get_bytes(sizeof(std::int64_t) * head.dimensions * (1U + head.has_strides));
  if (!reader.ok()) return "it sent a geometry that is too short";
  const GeometryName name{head.storage_offset, head.flags,  head.dtype,      head.device_type,
                          head.device_index,   head.layout, head.dimensions, head.has_strides};
  ByteWriter key;
  key.put(name);
  key.put_bytes(dimensions);
  return set(geometries_, head.id, names_.geometries.add(text_of(key.bytes())), message);
}

std::optional<std::string> RingNames::define_stack(std::span<const std::byte> message) {
  ByteReader reader(message);
  const auto head = reader.get<ring::StackMessage>();
  if (head.frames > kMostFrames) return "it sent a stack with too many frames";
  std::string text;
  for (std::uint32_t i = 0; i < head.frames; ++i) {
    const auto frame = reader.get<ring::StackFrame>();
    if (!reader.ok() || frame.object == 0 || !has_string(frame.object)) {
      return "it sent a stack that does not add up";
    }
    if (i > 0) text += '\n';
    text += names_.frames.text(names_.strings.at(string(frame.object)), frame.offset);
  }
  return set(stacks_, head.id, names_.strings.add(text), message);
}

}  // namespace ulpscope::dump
