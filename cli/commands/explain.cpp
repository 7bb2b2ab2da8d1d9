#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "cli/base/nearest.hpp"
#include "cli/explain/cause_pages.hpp"
#include "cli/explain/render_page.hpp"
#include "cli/options/command.hpp"
#include "cli/options/options.hpp"
#include "cli/options/output_options.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

const CausePage& page_of(const std::string& id) {
  const auto pages = cause_pages();
  const auto found = std::find_if(pages.begin(), pages.end(),
                                  [&id](const CausePage& page) { return page.id == id; });
  if (found != pages.end()) return *found;
  std::vector<std::string> ids;
  for (const CausePage& page : pages) ids.emplace_back(page.id);
  const std::string meant = nearest(id, ids);
  throw Error(
      ErrorCode::usage, fmt::format("there is no cause '{}'", id),
      meant.empty() ? "ulpscope explain lists them" : fmt::format("did you mean {}?", meant));
}

int run_explain(const Command& command, Arguments arguments) {
  std::string id;
  OutputOptions output;
  Options options(command);
  options.positional("CAUSE", "a cause as a report names it; without it all are listed", id, false);
  output.attach(options);
  if (!options.parse(std::move(arguments))) return 0;

  Page page(output.terminal());
  if (id.empty()) {
    render_cause_list(page);
  } else {
    render_markdown(page_of(id).text, page);
  }
  std::cout << page.text() << std::flush;
  return 0;
}

}  // namespace

const Command kExplainCommand{
    "explain",
    "Say what a cause is, how to confirm it and how to fix it.",
    "[CAUSE] [OPTIONS]",
    "Prints the page of a cause that a report names: what it is, how it looks in a report, how to "
    "confirm it, how to fix it, and which guide says so.\n"
    "Exit codes: 0 done, 2 there is no such cause.",
    "ulpscope explain\n"
    "ulpscope explain threads",
    Exit::trouble,
    run_explain};

}  // namespace ulpscope::cli
