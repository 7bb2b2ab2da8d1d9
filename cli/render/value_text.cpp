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
#include "core/torch_names.hpp"

namespace ulpscope::cli {
namespace {

std::string element_text(Dtype dtype, std::span<const std::byte> bytes, std::size_t index) {
  const std::size_t size = core::number_bits(dtype) / 8;
  const auto number = [&](std::size_t place) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + place * size, size);
    return bits;
  };
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

std::size_t element_count(Dtype dtype, std::span<const std::byte> bytes) {
  const std::size_t size = element_size(dtype);
  return size == 0 ? 0 : bytes.size() / size;
}

}  // namespace

std::vector<std::string> first_elements(Dtype dtype, std::span<const std::byte> bytes) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> elements;
  for (std::size_t i = 0; i < std::min(element_count(dtype, bytes), kShown); ++i)
    elements.push_back(element_text(dtype, bytes, i));
  return elements;
}

std::string geometry_text(const Geometry& geometry) {
  std::string result =
      fmt::format("{} [{}]", name(geometry.dtype), fmt::join(geometry.sizes, ", "));
  const bool plain = geometry.strides.empty() || (geometry.flags & geometry_flag::contiguous) != 0;
  if (!plain) result += fmt::format(" strides [{}]", fmt::join(geometry.strides, ", "));
  if (geometry.device_type != 0) {
    result += ' ' + core::device_name(geometry.device_type, geometry.device_index);
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
  std::vector<std::string> shown = first_elements(dtype, *bytes);
  if (dtype == Dtype::bool_)
    for (std::string& element : shown) element = element == "0" ? "False" : "True";
  const std::size_t count = element_count(dtype, *bytes);
  page.labelled("elements",
                fmt::format("{}{}", fmt::join(shown, ", "),
                            count > shown.size()
                                ? fmt::format(", ... ({} in row-major order)", core::grouped(count))
                                : std::string()));
}

}  // namespace ulpscope::cli
