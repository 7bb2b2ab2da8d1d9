#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ulpscope/replay.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// An op's call as it was recorded, for a Replayer.
struct RecordedCall {
  ReplayRequest request;             ///< under default conditions; nothing is wanted yet
  std::vector<const Slot*> results;  ///< that can be compared with replayed ones
  std::string failure;               ///< why it cannot be replayed; then the rest is incomplete
  bool lacks_bytes = false;
};
[[nodiscard]] RecordedCall recorded_call(const Run& run, std::uint32_t rank, const Event& event);

/// Which tensor a slot is, for ReplayRequest::wanted.
[[nodiscard]] ReplayTensor place_of(const Slot& slot);

/// Steps of the elements in the packed bytes, 0 if expanded.
[[nodiscard]] std::vector<std::int64_t> strides_in_packed(const Geometry& geometry);

/// The recorded bytes of a slot in row-major order, as a replayer returns results; empty if they
/// are not in the run.
[[nodiscard]] std::optional<ReplayTensor> recorded_tensor(const Run& run, std::uint32_t rank,
                                                          const Slot& slot);

/// The same tensor in row-major order, expanded dimensions repeated.
/// @pre its bytes are as many as its strides reach.
[[nodiscard]] ReplayTensor in_row_major_order(const ReplayTensor& tensor);

/// The state in which LibTorch was, as far as it was recorded, with inputs as they lay in memory.
/// `step` is the event's.
[[nodiscard]] ReplayConditions recorded_conditions(const Run& run, std::uint32_t rank,
                                                   std::int64_t step, const Event& event);

/// What the recorded process was started with, as far as that can change an op's bits. A kernel
/// level that this machine does not have is left to LibTorch.
[[nodiscard]] ReplayStart recorded_start(const Run& run, std::uint32_t rank);

/// A setting's value in that step; empty if it was not recorded.
[[nodiscard]] std::string setting(const Run& run, std::uint32_t rank, std::int64_t step,
                                  std::string_view key);

}  // namespace ulpscope::comparison
