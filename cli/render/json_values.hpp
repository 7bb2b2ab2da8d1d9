#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

/// Numbers and texts as all JSON documents have them.
namespace ulpscope::cli {

using Json = nlohmann::ordered_json;

inline constexpr std::uint64_t kLargestExact = std::uint64_t{1}
                                               << 53;  ///< what a double still counts

inline Json integer(std::uint64_t value) {
  return value > kLargestExact ? Json(fmt::format("{}", value)) : Json(value);
}

inline Json integer(std::int64_t value) {
  const auto limit = static_cast<std::int64_t>(kLargestExact);
  return value > limit || value < -limit ? Json(fmt::format("{}", value)) : Json(value);
}

/// Non-finite numbers are strings.
inline Json real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

/// Null if nothing is known.
inline Json known(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace ulpscope::cli
