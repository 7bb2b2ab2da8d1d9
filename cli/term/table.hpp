#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/term/terminal.hpp"

namespace ulpscope::cli {

struct Cell {
  std::string text;
  Ink ink = Ink::plain;
  bool right = false;
};

/// Columns as wide as their widest cell, two spaces apart, no trailing blanks.
class Table {
 public:
  void row(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  /// Shortens the cells of `column` (elided()) until a line takes at most `width` columns, but
  /// never below `least`.
  void fit(std::size_t column, std::size_t width, std::size_t least, const Terminal& terminal);

  [[nodiscard]] std::size_t width() const;
  [[nodiscard]] std::vector<std::string> lines(const Terminal& terminal) const;

 private:
  [[nodiscard]] std::vector<std::size_t> column_widths() const;

  std::vector<std::vector<Cell>> rows_;
};

}  // namespace ulpscope::cli
