#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// A decimal as a number, where a reader's double holds it exactly as written; else as a string.
inline Json decimal(const std::string& text) {
  const char* const end = text.data() + text.size();
  const auto complete = [end](const std::from_chars_result& result) {
    return result.ec == std::errc{} && result.ptr == end;
  };
  if (std::int64_t value = 0; complete(std::from_chars(text.data(), end, value))) {
    return text == "-0" ? Json(-0.0) : integer(value);
  }
  if (double value = 0;
      complete(std::from_chars(text.data(), end, value)) && std::isfinite(value)) {
    return value;
  }
  return text;
}

template <class List, class F>
Json list(const List& values, F&& convert) {
  Json result = Json::array();
  for (const auto& value : values) result.push_back(convert(value));
  return result;
}

inline Json strings(const std::vector<std::string>& values) {
  return list(values, [](const std::string& value) { return Json(value); });
}

inline Json sizes_json(const std::vector<std::int64_t>& sizes) {
  return list(sizes, [](std::int64_t size) { return integer(size); });
}

template <class T, class F>
Json optional(const std::optional<T>& value, F&& convert) {
  return value ? Json(convert(*value)) : Json(nullptr);
}

/// Null if nothing is known.
inline Json known(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace ulpscope::cli
