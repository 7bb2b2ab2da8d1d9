#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ring/listener.hpp"

namespace ulpscope::ring {

/// Sessions count from 1 in the order in which processes introduced themselves.
using SessionId = std::uint64_t;

/// Rank variables as the process had them when it introduced itself; empty if not set.
struct RankHints {
  std::optional<std::uint32_t> rank;                  ///< RANK
  std::optional<std::uint32_t> ompi_comm_world_rank;  ///< OMPI_COMM_WORLD_RANK
  std::optional<std::uint32_t> pmi_rank;              ///< PMI_RANK
  std::optional<std::uint32_t> slurm_procid;          ///< SLURM_PROCID
  std::optional<std::uint32_t> local_rank;            ///< LOCAL_RANK

  /// The first that is set, in the order above.
  [[nodiscard]] std::optional<std::uint32_t> first() const noexcept;
};

/// How a process introduced itself. Only `pid` is vouched for by the kernel.
struct Hello {
  std::uint32_t pid = 0;  ///< in the writer's pid namespace
  std::uint32_t parent_pid = 0;
  std::uint64_t start_time = 0;  ///< clock ticks since boot
  /// The session of the process that forked it, if that was recorded; 0 if it executed a
  /// program.
  SessionId parent_session = 0;
  std::uint32_t forking_thread = 0;  ///< of that process
  std::string capture_version;
  RankHints ranks;
  std::vector<std::string> command;
  bool command_cut = false;  ///< the command line was longer than what is passed on
};

/// What the packet of a HelloRequest says; nothing if it cannot be read.
[[nodiscard]] std::optional<Hello> read_hello(const Packet& packet);

}  // namespace ulpscope::ring
