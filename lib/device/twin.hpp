#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/batch.hpp"
#include "device/comparison.hpp"

/// The kernels' phases on the CPU: the same functions, run thread by thread.
namespace ulpscope::device::twin {

/// In which order blocks, and the threads of each phase, take their turns. Results must not depend
/// on it.
enum class Turns : std::uint8_t { forward, backward, shuffled };

struct Digests {
  std::vector<Digest> digests;
  std::vector<StatisticsTotals> statistics;  // empty if none were requested
};

/// Digests, and statistics if requested, of values in the memory of the CPU.
///
/// @throws Error with ErrorCode::usage if the values cannot be planned.
[[nodiscard]] Digests digests(std::span<const Value> values, bool statistics,
                              Turns turns = Turns::forward);

/// The packed bytes of a value in the memory of the CPU, with zeros up to a multiple of 16.
///
/// @throws Error with ErrorCode::usage if it cannot be planned.
[[nodiscard]] std::vector<std::byte> packed(const Value& value, Turns turns = Turns::forward);

/// How far apart two values in the memory of the CPU are, divided among so many blocks.
///
/// @throws Error with ErrorCode::usage if they cannot be compared.
[[nodiscard]] DifferenceRecord difference(const Value& reference, const Value& candidate,
                                          std::uint32_t blocks, Turns turns = Turns::forward);

}  // namespace ulpscope::device::twin
