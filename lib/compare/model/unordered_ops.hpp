#pragma once

#include <string_view>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Why an op's result may differ every time; empty if nothing of that kind is known. LibTorch
/// itself knows best (event_flag::not_deterministic); the list is used if it did not report. In
/// deterministic mode it uses different algorithms.
[[nodiscard]] std::string_view why_unordered(const Event& event);

}  // namespace ulpscope::comparison
