#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ulpscope/difference.hpp"
#include "ulpscope/digest.hpp"

/// Which of cuDNN's engines gave the result that a run recorded.
namespace ulpscope::device {

/// What an engine computed from the recorded inputs.
struct EngineTrial {
  std::int64_t engine = 0;            ///< cuDNN's index among those for the operation
  bool noted_deterministic = true;    ///< by cuDNN's own notes
  std::vector<Digest> repeats;        ///< of the result, once for each repeat; at least one
  std::array<Difference, 2> to_runs;  ///< of the first repeat from both runs' results
};

/// Whether all repeats gave the same bits.
[[nodiscard]] bool repeats_agree(const EngineTrial& trial) noexcept;

/// How an engine was recognized.
enum class EngineMatch : std::uint8_t {
  none,     ///< no engine ran
  nearest,  ///< none produces these bits; this one is nearest
  bits,     ///< a repeat of it produces these bits
};

struct UsedEngine {
  EngineMatch match = EngineMatch::none;
  std::int64_t engine = 0;
  std::vector<std::int64_t> others;  ///< further engines that give these bits
};

/// The engine that run 0 or 1 used, whose result has this digest: one of which a repeat produces
/// these bits, deterministic ones first, then those of lower index. If none does, the one from
/// which the fewest elements differ, then by the largest ULP distance, then by index.
[[nodiscard]] UsedEngine used_engine(std::span<const EngineTrial> trials, const Digest& result,
                                     std::size_t run);

}  // namespace ulpscope::device
