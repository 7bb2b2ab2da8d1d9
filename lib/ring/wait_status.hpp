#pragma once

#include <cstdint>
#include <optional>

namespace ulpscope::ring {

/// How a process that is no child of ours has ended, as waitpid() tells its parent. `process` is a
/// pidfd that was opened while it lived and is readable now. Empty where the system does not tell:
/// before Linux 6.15 only as long as nobody has waited for the process.
[[nodiscard]] std::optional<int> wait_status(int process, std::uint32_t pid) noexcept;

}  // namespace ulpscope::ring
