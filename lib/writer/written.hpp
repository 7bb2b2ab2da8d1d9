#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "ulpscope/run.hpp"

namespace ulpscope::writer {

/// The newest step of a lane that had begun for certain before and after messages came.
struct BegunSteps {
  std::int64_t before = kSetup;
  std::int64_t after = kSetup;
};

/// Messages of a process's lane that have been written.
struct Written {
  std::uint64_t process = 0;     ///< one of this recording
  std::uint32_t trainer = 0;     ///< one of its lanes that has steps of its own; 0: the others
  const RankIdentity& identity;  ///< as far as it was known when its first event came
  BegunSteps steps;
  std::span<const std::byte> messages;
};

using Watch = std::function<void(const Written& written)>;

}  // namespace ulpscope::writer
