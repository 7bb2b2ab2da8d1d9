#pragma once

#include <optional>
#include <span>
#include <string>

#include "dump/recording.hpp"
#include "dump/whole_dump.hpp"

namespace ulpscope::dump {

/// Why nothing was recorded, according to status.json; empty if something was: there is a segment,
/// or a journal with an event in it or with damage.
[[nodiscard]] std::optional<std::string> why_empty(std::span<const RankMarks> ranks,
                                                   const Status& status);

}  // namespace ulpscope::dump
