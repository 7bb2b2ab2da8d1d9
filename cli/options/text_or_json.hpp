#pragma once

#include <cstdint>

#include "cli/options/options.hpp"

namespace ulpscope::cli {

enum class Format : std::uint8_t { text, json };

/// Adds --format, which says how `target` is set.
inline void attach_format(Options& options, Format& target) {
  options.value("--format", "text|json", "FORMAT", "what to print",
                [&target](const auto& source, const auto& value) {
                  target = static_cast<Format>(choice(source, value, {"text", "json"}));
                });
}

}  // namespace ulpscope::cli
