#include "cli/formats/formats.hpp"

#include <algorithm>
#include <array>

#include "cli/formats/github.hpp"
#include "cli/formats/junit.hpp"
#include "cli/formats/markdown.hpp"
#include "cli/formats/png.hpp"
#include "cli/formats/sarif.hpp"
#include "cli/formats/svg.hpp"
#include "cli/render/html.hpp"
#include "cli/render/json.hpp"
#include "cli/render/text.hpp"

namespace ulpscope::cli {
namespace {

/// A format for programs is the same at every terminal.
template <void (*render)(const Report&, std::ostream&)>
void anywhere(const Report& report, const Terminal& /*terminal*/, std::ostream& out) {
  render(report, out);
}

constexpr std::array kFormats{
    ReportFormat{"text", render_text, true},
    ReportFormat{"json", anywhere<render_json>, true},
    ReportFormat{"markdown", anywhere<render_markdown_report>, true},
    ReportFormat{"junit", anywhere<render_junit>, true},
    ReportFormat{"sarif", anywhere<render_sarif>, true},
    ReportFormat{"github", anywhere<render_github>, true},
    ReportFormat{"svg", anywhere<render_svg>, false},
    ReportFormat{"png", anywhere<render_png>, false, require_png},
    ReportFormat{"html", anywhere<render_html>, false},
};

}  // namespace

std::span<const ReportFormat> report_formats() { return kFormats; }

std::vector<std::string> format_names(bool on_screen_only) {
  std::vector<std::string> names;
  for (const ReportFormat& format : kFormats)
    if (format.on_screen || !on_screen_only) names.emplace_back(format.name);
  return names;
}

const ReportFormat* find_format(std::string_view name) {
  const auto found = std::find_if(kFormats.begin(), kFormats.end(),
                                  [name](const ReportFormat& one) { return one.name == name; });
  return found == kFormats.end() ? nullptr : &*found;
}

}  // namespace ulpscope::cli
