#include "core/torch_names.hpp"

#include <array>

namespace ulpscope::core {
namespace {

template <std::size_t Count>
std::string named(const std::array<std::string_view, Count>& names, std::uint8_t number,
                  std::string_view kind) {
  if (number < Count) return std::string(names[number]);
  return std::string(kind) + std::to_string(number);
}

}  // namespace

std::string layout_name(std::uint8_t layout) {
  static constexpr std::array<std::string_view, 8> kNames{"strided",    "sparse_coo", "sparse_csr",
                                                          "_mkldnn",    "sparse_csc", "sparse_bsr",
                                                          "sparse_bsc", "jagged"};
  return named(kNames, layout, "layout");
}

std::string device_name(std::uint8_t type, std::int8_t index) {
  static constexpr std::array<std::string_view, 21> kNames{
      "cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
      "fpga", "maia", "xla",    "vulkan", "metal",  "xpu",   "mps",
      "meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",  "privateuseone"};
  std::string text = named(kNames, type, "device");
  if (index >= 0) text += ':' + std::to_string(index);
  return text;
}

std::string_view nth_name(std::string_view joined, std::size_t index) {
  for (; index > 0; --index) {
    const std::size_t comma = joined.find(',');
    if (comma == std::string_view::npos) return {};
    joined.remove_prefix(comma + 1);
  }
  return joined.substr(0, joined.find(','));
}

}  // namespace ulpscope::core
