#pragma once

#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/term/terminal.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// A form in which the report of two runs can be written.
struct ReportFormat {
  std::string_view name;
  void (*render)(const Report& report, const Terminal& terminal, std::ostream& out);
  bool on_screen;  ///< --format can be it; -o always can
  /// @throws Error if what it needs of other programs is not there. Null: nothing.
  void (*require)() = nullptr;
};

/// All of them, in the order of the help: text is the first.
[[nodiscard]] std::span<const ReportFormat> report_formats();

/// Names of those that --format can be, or of all.
[[nodiscard]] std::vector<std::string> format_names(bool on_screen_only);

/// Null if there is none of that name.
[[nodiscard]] const ReportFormat* find_format(std::string_view name);

}  // namespace ulpscope::cli
