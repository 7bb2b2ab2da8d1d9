#include "cli/render/model_differences_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "cli/term/escape.hpp"
#include "cli/term/table.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t kMostDifferences = 12;
constexpr std::size_t kLeastCell = 10;

std::string place(const ModelDifference& model) {
  const std::string path = escaped(model.path.empty() ? model.root : model.path);
  const bool is_plain = model.what == ModelAspect::shape || model.what == ModelAspect::tensor;
  return is_plain ? path : fmt::format("{} of {}", name(model.what), path);
}

std::string value(const std::optional<std::string>& text) {
  return text ? escaped(*text) : "(none)";
}

}  // namespace

void render_model_differences(const Report& report, Page& page) {
  if (report.models.empty()) return;
  const Terminal& terminal = page.terminal();
  Table table;
  table.row({{"differ", Ink::dim}, {"reference", Ink::dim}, {"candidate", Ink::dim}});
  const std::size_t rows = std::min(report.models.size(), kMostDifferences);
  for (std::size_t k = 0; k < rows; ++k) {
    const ModelDifference& model = report.models[k];
    table.row({{place(model)},
               {value(model.reference), Ink::yellow},
               {value(model.candidate), Ink::yellow}});
  }
  const std::size_t room = terminal.width - kLabelWidth;
  for (const std::size_t column : {0U, 2U, 1U}) table.fit(column, room, kLeastCell, terminal);
  std::string_view label = "models";
  for (const std::string& line : table.lines(terminal)) {
    page.line(page.paint(Ink::dim, padded(label, kLabelWidth)) + line);
    label = "";
  }
  if (rows < report.models.size())
    page.labelled(
        "", fmt::format("and {}", core::counted(report.models.size() - rows, "more difference")));
}

}  // namespace ulpscope::cli
