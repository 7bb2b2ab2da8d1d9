#pragma once

#include <string_view>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Why an op's result may be another every time; empty where nothing is known of that kind.
/// LibTorch itself knows best (event_flag::not_deterministic); the list stands in where it was not
/// heard. In deterministic mode it takes other ways.
[[nodiscard]] std::string_view why_unordered(const Event& event);

}  // namespace ulpscope::comparison
