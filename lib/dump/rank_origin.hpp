#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ulpscope::dump {

class ByteReader;
class ByteWriter;

/// A process among all that its machine has run since boot. Processes that one process
/// creates are in the order of their creation.
struct ProcessMark {
  std::uint64_t start_time = 0;  ///< clock ticks since the machine was started
  std::uint32_t pid = 0;

  friend auto operator<=>(const ProcessMark&, const ProcessMark&) = default;
};

/// The variables that declare a rank, the one that counts most first.
inline constexpr std::array<std::string_view, 5> kRankVariables = {
    "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "LOCAL_RANK"};

/// Where a recorded process comes from: what its environment declares and who created it.
struct RankOrigin {
  /// In the order in which processes introduced themselves, from 1; 0: not known.
  std::uint64_t session = 0;
  std::array<std::optional<std::uint32_t>, kRankVariables.size()> declared;
  /// The processes that created it, outermost first, then itself.
  std::vector<ProcessMark> path;
  /// The thread of its creator that forked it; 0: not known, or it has executed a program since.
  std::uint32_t forking_thread = 0;

  [[nodiscard]] bool known() const noexcept { return session != 0 && !path.empty(); }
};

void put(ByteWriter& out, const RankOrigin& origin);
/// What put() wrote; the reader is not ok() where it is something else.
[[nodiscard]] RankOrigin get_origin(ByteReader& in);

}  // namespace ulpscope::dump
