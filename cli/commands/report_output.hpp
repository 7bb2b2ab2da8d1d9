#pragma once

#include <string>
#include <vector>

#include "cli/formats/formats.hpp"
#include "cli/options/options.hpp"
#include "cli/term/terminal.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// Files that the report of two runs is written to, in addition to what is printed. The file - is
/// standard output.
class ReportFiles {
 public:
  /// Adds the option that names them, as FORMAT=FILE. A form that this machine cannot make is
  /// refused when the option is read.
  /// @param names, variable as Options::value() has them.
  void attach(Options& options, const std::string& names, const std::string& variable);

  [[nodiscard]] bool empty() const { return files_.empty(); }

  /// @param on_screen what is printed in text: files are as wide as piped text, but drawn alike.
  /// @throws Error with ErrorCode::io; the files before the one that fails are written.
  void write(const Report& report, const Terminal& on_screen) const;

 private:
  struct File {
    const ReportFormat* format;
    std::string path;
  };

  std::vector<File> files_;
};

/// Adds --format for a report of two runs, which says how `target` is set.
void attach_report_format(Options& options, const ReportFormat*& target);

}  // namespace ulpscope::cli
