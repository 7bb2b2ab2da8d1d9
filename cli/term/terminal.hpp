#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ulpscope::cli {

enum class Ink : std::uint8_t { plain, bold, dim, red, green, yellow, blue };

/// What a renderer knows about its output. Color only adds: every meaning is in the characters too.
struct Terminal {
  std::size_t width = 100;
  bool color = false;
  bool ascii = false;

  [[nodiscard]] std::string paint(Ink ink, std::string_view text) const;
  [[nodiscard]] std::string_view gutter() const { return ascii ? "|" : "│"; }
  [[nodiscard]] std::string_view ellipsis() const { return ascii ? "..." : "…"; }
};

/// Columns that `text` takes; it must be escaped() and not painted.
[[nodiscard]] std::size_t display_width(std::string_view text);

/// `text` filled up with spaces to `width` columns.
[[nodiscard]] std::string padded(std::string_view text, std::size_t width, bool right = false);

/// `text` in at most `width` columns, its middle left out if need be: both ends of a dotted path or
/// a symbol say more than its start alone.
[[nodiscard]] std::string elided(std::string_view text, std::size_t width,
                                 const Terminal& terminal);

/// `text` broken at spaces into lines of at most `width` columns (longer words get their own line);
/// not at those around a dash: "0 - 16" stays together.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t width);

}  // namespace ulpscope::cli
