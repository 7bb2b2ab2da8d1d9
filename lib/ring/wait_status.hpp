#pragma once

#include <cstdint>
#include <optional>

namespace ulpscope::ring {

/// How a process that is not our child has ended, as waitpid() reports it to its parent. `process`
/// is a pidfd that was opened while it lived and is readable now. Empty if unknown: before Linux
/// 6.15 available only until the process is waited for.
[[nodiscard]] std::optional<int> wait_status(int process, std::uint32_t pid) noexcept;

}  // namespace ulpscope::ring
