#include "cli/render/growth_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cli/term/escape.hpp"
#include "cli/term/table.hpp"
#include "cli/term/width.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t kMostGrowthRows = 8;

/// The first and the last points where there are too many.
Table growth_table(const std::vector<GrowthPoint>& growth, const Terminal& terminal) {
  const bool losses = std::any_of(growth.begin(), growth.end(),
                                  [](const GrowthPoint& point) { return point.loss.has_value(); });
  const auto cell = [](std::string text) { return Cell{std::move(text), Ink::plain, true}; };
  const auto heading = [](std::string text) { return Cell{std::move(text), Ink::dim, true}; };
  Table table;
  std::vector<Cell> headings{heading("step"), heading("ULP"), heading("scaled")};
  if (losses) headings.insert(headings.end(), {heading("loss, reference"), heading("candidate")});
  table.row(std::move(headings));
  constexpr std::size_t kEnds = kMostGrowthRows / 2;
  for (std::size_t i = 0; i < growth.size(); ++i) {
    if (growth.size() > kMostGrowthRows && i == kEnds) {
      table.row({heading(std::string(terminal.ellipsis()))});
      i = growth.size() - kEnds;
    }
    const GrowthPoint& point = growth[i];
    const auto loss = [&point, &cell](auto run) {
      return cell(point.loss ? fmt::format("{:.9g}", std::invoke(run, *point.loss)) : "");
    };
    table.row({cell(fmt::format("{}", point.step)),
               cell(point.ulp_max ? core::grouped(*point.ulp_max) : ""),
               cell(point.scaled_max ? core::short_number(*point.scaled_max) : ""),
               loss(&Both<double>::reference), loss(&Both<double>::candidate)});
  }
  return table;
}

/// The first and the last points, each module's last op standing for it.
Table path_table(const Path& path, const Terminal& terminal) {
  std::vector<const PathPoint*> points;
  for (const PathPoint& point : path.points) {
    const bool same_module = !points.empty() && points.size() > 1 && !point.module.empty() &&
                             points.back()->module == point.module;
    if (same_module) points.pop_back();
    points.push_back(&point);
  }
  const auto cell = [](std::string text) { return Cell{std::move(text), Ink::plain, true}; };
  const auto heading = [](std::string text) { return Cell{std::move(text), Ink::dim, true}; };
  Table table;
  table.row({{fmt::format("op of step {}", path.step), Ink::dim},
             {"module", Ink::dim},
             heading("ULP"),
             heading("scaled")});
  constexpr std::size_t kEnds = kMostGrowthRows / 2;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points.size() > kMostGrowthRows && i == kEnds) {
      table.row({{std::string(terminal.ellipsis()), Ink::dim}});
      i = points.size() - kEnds;
    }
    const PathPoint& point = *points[i];
    table.row({{escaped(point.op)},
               {escaped(point.module)},
               cell(core::grouped(point.ulp_max)),
               cell(point.scaled_max ? core::short_number(*point.scaled_max) : "")});
  }
  return table;
}

void print(const Table& table, std::string_view label, Page& page) {
  page.line();
  for (const std::string& line : table.lines(page.terminal())) {
    page.line(page.paint(Ink::dim, padded(label, kLabelWidth)) + line);
    label = "";
  }
}

}  // namespace

void render_path(const Report& report, Page& page) {
  if (report.path.points.size() < 2) return;
  Table table = path_table(report.path, page.terminal());
  const std::size_t room = page.terminal().width - kLabelWidth;
  for (const std::size_t column : {1U, 0U}) table.fit(column, room, 10, page.terminal());
  print(table, "path", page);
}

void render_growth(const Report& report, Page& page) {
  if (report.growth.size() < 2) return;  // one point is already in the finding
  print(growth_table(report.growth, page.terminal()), "growth", page);
}

}  // namespace ulpscope::cli
