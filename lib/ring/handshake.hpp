#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "ring/inlined_calls.hpp"
#include "ring/settings.hpp"

/// The packets of the handshake. A request is one packet, its reply is one packet with at most two
/// descriptors, then the connection ends. A request to leave has no packet for a reply: its
/// connection ends when the dump is complete.
namespace ulpscope::ring {

inline constexpr std::uint32_t kHandshakeMagic = 0x48504c55;  // "ULPH"
inline constexpr std::uint32_t kMaxCommandBytes = std::uint32_t{64} << 10;
inline constexpr std::uint32_t kMaxPathBytes = 4096;
inline constexpr std::size_t kMostDescriptors = 2;  ///< of one reply

enum class RequestKind : std::uint32_t { hello = 1, ring = 2, leave = 3, inlined = 4 };

struct RequestHeader {
  std::uint32_t magic = kHandshakeMagic;
  std::uint32_t protocol = 0;
  RequestKind kind{};
  std::uint32_t size = 0;  ///< of the whole packet
};

/// Followed by `command_bytes` bytes: the arguments, each ended by a NUL.
struct HelloRequest {
  RequestHeader header;
  std::uint64_t nonce = 0;  ///< proves later that a ring request belongs to this session
  std::uint64_t start_time = 0;
  std::uint32_t pid = 0;
  std::uint32_t parent_pid = 0;
  std::uint64_t parent_session = 0;  ///< of the process that forked it; 0: not forked, or not known
  std::uint32_t forking_thread = 0;  ///< of that process, as the kernel numbers it; 0: not forked
  std::int32_t ranks[5] = {-1, -1, -1, -1, -1};  ///< in the order of RankHints; -1: not set
  std::uint32_t command_bytes = 0;
  std::uint32_t command_cut = 0;
  Text<64> capture_version;
};

struct RingRequest {
  RequestHeader header;
  std::uint64_t session = 0;
  std::uint64_t nonce = 0;
  std::uint32_t is_main = 0;
  std::uint32_t reserved = 0;
  Text<64> thread_name;
};

struct LeaveRequest {
  RequestHeader header;
  std::uint64_t session = 0;
  std::uint64_t nonce = 0;
};

/// Followed by `path_bytes` bytes: the file that is mapped.
struct InlinedRequest {
  RequestHeader header;
  std::uint64_t session = 0;
  std::uint64_t nonce = 0;
  std::uint64_t address = 0;  ///< as the file counts
  std::uint32_t path_bytes = 0;
  std::uint32_t reserved = 0;
};

struct ReplyHeader {
  std::uint32_t magic = kHandshakeMagic;
  std::uint32_t protocol = 0;
  std::uint32_t granted = 0;
  std::uint32_t size = 0;
  Text<160> refusal;
};

/// With the descriptors of the writer page and of the session page.
struct HelloReply {
  ReplyHeader header;
  std::uint64_t session = 0;
  Settings settings;
};

/// With the descriptor of the ring.
struct RingReply {
  ReplyHeader header;
  std::uint64_t capacity = 0;
  std::uint32_t lane = 0;
  std::uint32_t reserved = 0;
};

struct InlinedReply {
  ReplyHeader header;
  InlinedCalls calls;
};

static_assert(std::is_trivially_copyable_v<HelloRequest> &&
              std::is_trivially_copyable_v<RingRequest> &&
              std::is_trivially_copyable_v<LeaveRequest> &&
              std::is_trivially_copyable_v<InlinedRequest> &&
              std::is_trivially_copyable_v<HelloReply> && std::is_trivially_copyable_v<RingReply> &&
              std::is_trivially_copyable_v<InlinedReply>);

}  // namespace ulpscope::ring
