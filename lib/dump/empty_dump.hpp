#pragma once

#include <optional>
#include <span>
#include <string>

#include "dump/recording.hpp"
#include "dump/whole_dump.hpp"

namespace ulpscope::dump {

/// Why nothing was recorded, as status.json has it; empty if something was: where a segment is
/// there, or a journal with an event in it or with damage.
[[nodiscard]] std::optional<std::string> why_empty(std::span<const RankMarks> ranks,
                                                   const Status& status);

}  // namespace ulpscope::dump
