#pragma once

#include <cstdint>
#include <string>

#include "ulpscope/replay.hpp"

/// Messages between `compare` and the program that replays ops: a length of 64 bits, then so many
/// bytes.
namespace ulpscope::replay {

/// A longer message is invalid.
inline constexpr std::uint64_t kLongestMessage = std::uint64_t{1} << 36;

[[nodiscard]] std::string pack(const ReplayRequest& request);
[[nodiscard]] std::string pack(const ReplayAnswer& answer);

/// @throws Error with ErrorCode::corrupt if the bytes are not such a message.
[[nodiscard]] ReplayRequest unpack_request(const std::string& bytes);
[[nodiscard]] ReplayAnswer unpack_answer(const std::string& bytes);

}  // namespace ulpscope::replay
