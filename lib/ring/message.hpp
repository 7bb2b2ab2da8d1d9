#pragma once

#include <cstdint>

/// What travels through a ring: a stream of messages, each a header and a fixed row, then variable
/// bytes, padded to 8. Little-endian, host alignment. Ids (strings, ops, geometries) count from 1
/// inside one ring and are defined there before their first use; 0 means none. Everything the
/// consumer reads is untrusted.
namespace ulpscope::ring {

inline constexpr std::uint32_t kProtocolVersion = 8;
inline constexpr std::uint64_t kNone = ~std::uint64_t{0};

enum class MessageKind : std::uint16_t {
  string = 1,
  op = 2,
  geometry = 3,
  event = 4,
  content = 5,
  environment = 6,
  notice = 7,
  statistics = 8,
  stack = 9,
  resolved = 10,
};

struct MessageHeader {
  std::uint32_t size;  ///< whole message with header and padding, a multiple of 8
  MessageKind kind;
  std::uint16_t reserved;
};

/// Followed by `length` bytes of UTF-8.
struct StringMessage {
  MessageHeader header;
  std::uint32_t id;
  std::uint32_t length;
};

/// The identity of an op, node class, module type, optimizer class or scope; fields are string ids.
struct OpMessage {
  MessageHeader header;
  std::uint32_t id;
  std::uint32_t name;
  std::uint32_t overload;
  std::uint32_t argument_names;  ///< joined by ','
  std::uint32_t return_names;    ///< joined by ','
  std::uint32_t reserved;
};

/// Followed by `dimensions` sizes and, with has_strides, as many strides (int64, in elements).
struct GeometryMessage {
  MessageHeader header;
  std::uint32_t id;
  std::uint8_t dtype;
  std::uint8_t device_type;
  std::int8_t device_index;
  std::uint8_t layout;
  std::uint16_t flags;  ///< geometry_flag
  std::uint8_t dimensions;
  std::uint8_t has_strides;
  std::uint32_t reserved;
  std::int64_t storage_offset;
};

/// One event, sent when it ends: the events inside it come before it. Followed by `slots` SlotRows,
/// then `argument_bytes` bytes of encoded arguments (lib/core/argument_codec.hpp).
struct EventRow {
  MessageHeader header;
  std::uint64_t position;
  std::uint64_t parent;
  std::uint64_t forward;
  std::uint64_t epoch;  ///< process-wide clock: orders events of different lanes
  std::uint64_t object;
  std::uint64_t rng_seed;
  std::uint64_t rng_before[2];
  std::uint64_t rng_after[2];
  std::uint32_t op;
  std::uint32_t module;       ///< string id; 0: no module ("" has its own id)
  std::uint32_t root;         ///< string id
  std::uint32_t module_type;  ///< string id
  std::uint32_t flags;        ///< event_flag
  std::uint32_t forward_lane;
  std::uint32_t argument_bytes;
  std::uint32_t stack;  ///< StackMessage
  std::uint16_t slots;
  std::uint16_t depth;
  std::uint16_t threads;
  std::uint8_t kind;     ///< EventKind
  std::uint8_t pending;  ///< 1: some slot's digest is pending
};

/// Of a slot whose digest is not known yet; bits of SlotRow::pending.
namespace pending_flag {
inline constexpr std::uint8_t ticket = 1U << 0;           ///< digest[0] is a ticket
inline constexpr std::uint8_t expects_digest = 1U << 1;   ///< logical is the last known digest
inline constexpr std::uint8_t expects_ticket = 1U << 2;   ///< logical[0] is a ticket of that
inline constexpr std::uint8_t marks_change = 1U << 3;     ///< a new digest is slot_flag::changed
inline constexpr std::uint8_t only_if_changed = 1U << 4;  ///< with the same one there is no slot
}  // namespace pending_flag

struct SlotRow {
  std::uint64_t digest[2];
  std::uint64_t logical[2];
  std::uint64_t value;  ///< equal ids: the same bytes by construction (same storage, same write)
  std::uint64_t storage;
  std::uint64_t writer;
  std::uint32_t writer_lane;
  std::uint32_t writes;
  std::uint32_t geometry;
  std::uint32_t name;   ///< string id
  std::uint32_t flags;  ///< slot_flag
  std::uint16_t index;
  std::uint16_t element;
  std::uint8_t role;  ///< Role
  std::uint8_t alignment;
  std::uint8_t pending;  ///< pending_flag
  std::uint8_t reserved[5];
};

/// Bytes of a value, packed in memory order, in pieces that follow each other in one ring; they
/// come before the event that refers to their digest. Followed by `length` bytes.
struct ContentMessage {
  MessageHeader header;
  std::uint64_t digest[2];
  std::uint64_t total;
  std::uint64_t offset;
  std::uint32_t length;
  std::uint32_t reserved;
};

/// Statistics of a value, sent once per ring and value, before the event that refers to its digest.
struct StatisticsMessage {
  MessageHeader header;
  std::uint64_t digest[2];
  double min;
  double max;
  double mean;
  double l2;
  std::uint64_t elements;
  std::uint64_t nan;
  std::uint64_t inf;
  std::uint64_t zero;
  std::uint64_t subnormal;
  std::uint8_t dtype;
  std::uint8_t reserved[7];
};

/// The digest of a value that was computed elsewhere, on a device, while its thread continued: what
/// slots with its ticket mean. Comes in any ring of the process, after what is sent under that
/// digest.
struct ResolvedMessage {
  MessageHeader header;
  std::uint64_t ticket;  ///< from 1, never used twice in a process
  std::uint64_t digest[2];
  std::uint64_t logical[2];  ///< 0: memory order is logical order
  std::uint32_t failed;      ///< 1: it could not be computed
  std::uint32_t no_content;  ///< 1: its bytes are not sent, whatever slots say
};

/// Return addresses in the program, innermost first, defined once per ring. Followed by `frames`
/// StackFrames.
struct StackMessage {
  MessageHeader header;
  std::uint32_t id;
  std::uint32_t frames;
};

/// An address as an offset in the file of a mapped object, or a line of Python code.
struct StackFrame {
  std::uint64_t offset;  ///< virtual address in the object, as its symbol table counts; line
  std::uint32_t object;  ///< string id of the object's path, or of "python:FILE\nFUNCTION"
  std::uint32_t reserved;
};

/// A setting of the process. Followed by `length` bytes of the value.
struct EnvironmentMessage {
  MessageHeader header;
  std::uint64_t epoch;
  std::uint32_t key;  ///< string id
  std::uint32_t length;
};

/// Something the dump must say about its completeness: recording stopped, a part was not
/// observed. Followed by `length` bytes of a sentence.
struct NoticeMessage {
  MessageHeader header;
  std::uint32_t fatal;  ///< 1: recording of this process ends here
  std::uint32_t length;
};

[[nodiscard]] constexpr std::uint32_t padded(std::uint64_t size) noexcept {
  return static_cast<std::uint32_t>((size + 7) & ~std::uint64_t{7});
}

static_assert(sizeof(MessageHeader) == 8);
static_assert(sizeof(EventRow) == 128);
static_assert(sizeof(SlotRow) == 88);
static_assert(sizeof(StatisticsMessage) == 104);

}  // namespace ulpscope::ring
