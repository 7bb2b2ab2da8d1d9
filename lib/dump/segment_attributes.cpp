#include "dump/segment_attributes.hpp"

#include "dump/bytes.hpp"

namespace ulpscope::dump {

std::vector<std::byte> encode(const SegmentAttributes& attributes) {
  ByteWriter out;
  out.put(attributes.rank);
  out.put(attributes.pid);
  out.put(attributes.segment);
  out.put(attributes.run);
  out.put(attributes.previous);
  out.put(attributes.oldest_segment);
  out.put(std::uint32_t{attributes.finished});
  out.put(attributes.first_step);
  out.put(attributes.last_step);
  out.put(attributes.first_kept_step);
  out.put(attributes.steps);
  out.put(attributes.events);
  out.put(attributes.values);
  out.put_text(attributes.creator);
  out.put_text(attributes.level);
  out.put_text(attributes.command);
  out.put_text(attributes.incomplete_reason);
  put(out, attributes.origin);
  return {out.bytes().begin(), out.bytes().end()};
}

std::optional<SegmentAttributes> decode_attributes(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  SegmentAttributes attributes;
  attributes.rank = in.get<std::uint32_t>();
  attributes.pid = in.get<std::uint32_t>();
  attributes.segment = in.get<std::uint32_t>();
  attributes.run = in.get<RunId>();
  attributes.previous = in.get<Digest>();
  attributes.oldest_segment = in.get<std::uint32_t>();
  attributes.finished = in.get<std::uint32_t>() != 0;
  attributes.first_step = in.get<std::int64_t>();
  attributes.last_step = in.get<std::int64_t>();
  attributes.first_kept_step = in.get<std::int64_t>();
  attributes.steps = in.get<std::uint64_t>();
  attributes.events = in.get<std::uint64_t>();
  attributes.values = in.get<std::uint64_t>();
  attributes.creator = in.get_text();
  attributes.level = in.get_text();
  attributes.command = in.get_text();
  attributes.incomplete_reason = in.get_text();
  attributes.origin = get_origin(in);
  if (!in.ok() || in.left() != 0) return std::nullopt;
  return attributes;
}

}  // namespace ulpscope::dump
