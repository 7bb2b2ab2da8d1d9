#include "cli/commands/report_output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <iostream>
#include <sstream>

#include "cli/base/whole_file.hpp"
#include "cli/term/width.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

const ReportFormat* format_named(const std::string& source, const std::string& value,
                                 bool on_screen_only) {
  const std::vector<std::string> names = format_names(on_screen_only);
  return find_format(names[choice(source, value, names)]);
}

}  // namespace

void attach_report_format(Options& options, const ReportFormat*& target) {
  target = &report_formats().front();
  options.value("--format", fmt::format("{}", fmt::join(format_names(true), "|")), "FORMAT",
                "what to print", [&target](const auto& source, const auto& value) {
                  target = format_named(source, value, true);
                });
}

void ReportFiles::attach(Options& options, const std::string& names, const std::string& variable) {
  options
      .value(
          names, "FORMAT=FILE", variable, "also write the report to a file (repeatable)",
          [this](const std::string& source, const std::string& value) {
            const std::size_t equals = value.find('=');
            if (equals == std::string::npos || equals + 1 == value.size()) {
              throw Error(ErrorCode::usage,
                          fmt::format("{} takes FORMAT=FILE, not '{}'", source, value),
                          fmt::format("give it as {} json=report.json", source));
            }
            const ReportFormat* const format = format_named(source, value.substr(0, equals), false);
            if (format->require != nullptr) format->require();
            files_.push_back({format, value.substr(equals + 1)});
          },
          true)
      .more(fmt::format("FORMAT is one of {}; the file - is standard output",
                        fmt::join(format_names(false), ", ")));
}

void ReportFiles::write(const Report& report, const Terminal& on_screen) const {
  const Terminal terminal{kWidthWhenPiped, false, on_screen.ascii};
  for (const File& file : files_) {
    std::ostringstream text;
    file.format->render(report, terminal, text);
    if (file.path == "-") {
      std::cout << text.view();
      continue;
    }
    try {
      write_whole_file(file.path, text.view());
    } catch (const std::filesystem::filesystem_error& error) {
      throw Error(ErrorCode::io,
                  fmt::format("'{}' could not be written: {}", file.path, error.code().message()),
                  "name a file in a directory that exists and has room, as json=report.json");
    }
  }
}

}  // namespace ulpscope::cli
