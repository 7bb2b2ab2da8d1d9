#include "cli/render/value_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "cli/term/escape.hpp"
#include "core/counts.hpp"
#include "core/decimal.hpp"
#include "core/number_text.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t kElementsShown = 8;

std::string_view device_name(std::uint8_t type) {
  constexpr std::string_view kNames[] = {"cpu", "cuda"};
  return type < std::size(kNames) ? kNames[type] : "device";
}

std::string element_text(Dtype dtype, std::span<const std::byte> bytes, std::size_t index) {
  const std::size_t size = core::number_bits(dtype) / 8;
  const auto number = [&](std::size_t place) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + place * size, size);
    return bits;
  };
  if (dtype == Dtype::bool_) return number(index) != 0 ? "True" : "False";
  if (!is_complex(dtype)) return core::number_text(dtype, number(index));
  return core::complex_text(dtype, number(2 * index), number(2 * index + 1));
}

void render_statistics(const Statistics& statistics, Page& page) {
  Table table;
  const auto row = [&](std::string_view name, double value, std::string_view counted_name,
                       std::uint64_t count) {
    table.row({{std::string(name), Ink::dim},
               {core::shortest(value), Ink::plain, true},
               {std::string(counted_name), Ink::dim},
               {core::grouped(count), Ink::plain, true}});
  };
  row("min", statistics.min, "NaN", statistics.nan);
  row("max", statistics.max, "infinite", statistics.inf);
  row("mean", statistics.mean, "zero", statistics.zero);
  row("L2 norm", statistics.l2, "subnormal", statistics.subnormal);
  for (const std::string& line : table.lines(page.terminal())) {
    page.line(std::string(kLabelWidth, ' ') + line);
  }
}

}  // namespace

std::string geometry_text(const Geometry& geometry) {
  std::string result =
      fmt::format("{} [{}]", name(geometry.dtype), fmt::join(geometry.sizes, ", "));
  const bool plain = geometry.strides.empty() || (geometry.flags & geometry_flag::contiguous) != 0;
  if (!plain) result += fmt::format(" strides [{}]", fmt::join(geometry.strides, ", "));
  if (geometry.device_type != 0) {
    result += fmt::format(" {}:{}", device_name(geometry.device_type), geometry.device_index);
  }
  return result;
}

std::vector<Cell> value_row(const StoredValue& value) {
  return {{escaped(value.path)},
          {geometry_text(value.geometry)},
          {value.has_digest ? to_string(value.digest) : "-", Ink::dim}};
}

void render_value(const StoredValue& value, const std::optional<Statistics>& recorded,
                  const std::optional<std::vector<std::byte>>& bytes, Page& page) {
  const Dtype dtype = value.geometry.dtype;
  page.labelled("value", escaped(value.path), Ink::bold);
  page.labelled("tensor", geometry_text(value.geometry));
  if (value.has_digest) {
    page.labelled("digest", to_string(value.digest));
  } else {
    page.labelled("digest", "none");
  }
  if (recorded) {
    page.labelled("statistics", "as recorded");
    render_statistics(*recorded, page);
  } else if (bytes) {
    page.labelled("statistics", "of the recorded bytes");
    render_statistics(statistics_of(dtype, *bytes), page);
  }
  if (!bytes) {
    page.labelled("elements", "not in the dump");
    return;
  }
  const std::size_t size = element_size(dtype);
  const std::size_t count = size == 0 ? 0 : bytes->size() / size;
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(count, kElementsShown); ++i) {
    shown.push_back(element_text(dtype, *bytes, i));
  }
  page.labelled("elements",
                fmt::format("{}{}", fmt::join(shown, ", "),
                            count > kElementsShown
                                ? fmt::format(", ... ({} in row-major order)", core::grouped(count))
                                : std::string()));
}

}  // namespace ulpscope::cli
