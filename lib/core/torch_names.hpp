#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Names as PyTorch prints them.
namespace ulpscope::core {

/// "strided", "sparse_coo"; "layout9" for a number without a name.
[[nodiscard]] std::string layout_name(std::uint8_t layout);

/// "cpu", "cuda:0"; an index below 0 has no place in it.
[[nodiscard]] std::string device_name(std::uint8_t type, std::int8_t index);

/// The `index`-th of comma-joined names, as a schema's arguments have them; empty if there are
/// fewer.
[[nodiscard]] std::string_view nth_name(std::string_view joined, std::size_t index);

}  // namespace ulpscope::core
