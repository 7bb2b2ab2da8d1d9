#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ulpscope::cli {

/// Values of options, or an Error that names `source`.
[[nodiscard]] std::uint64_t whole_number(const std::string& source, const std::string& value);
[[nodiscard]] std::int64_t signed_number(const std::string& source, const std::string& value);
[[nodiscard]] double tolerance(const std::string& source, const std::string& value);
/// Bytes: "4096", "64K", "8M", "1G" (powers of two).
[[nodiscard]] std::uint64_t size_in_bytes(const std::string& source, const std::string& value);
/// The index of `value` in `choices`.
[[nodiscard]] std::size_t choice(const std::string& source, const std::string& value,
                                 const std::vector<std::string>& choices);

}  // namespace ulpscope::cli
