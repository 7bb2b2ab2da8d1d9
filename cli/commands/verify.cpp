#include "dump/verify.hpp"

#include <fmt/format.h>

#include <iostream>

#include "cli/inputs/open_run.hpp"
#include "cli/options/command.hpp"
#include "cli/options/options.hpp"
#include "cli/options/output_options.hpp"
#include "cli/options/text_or_json.hpp"
#include "cli/render/json_documents.hpp"
#include "cli/render/page.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/working.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

void print_text(const dump::VerifyResult& result, const Terminal& terminal) {
  Page page(terminal);
  for (const std::string& problem : result.problems) page.line(escaped(problem));
  const std::string seen =
      fmt::format("{}, {}, {}", core::counted(result.segments, "segment"),
                  core::counted(result.events, "event"),
                  core::counted(result.contents, "value with bytes", "values with bytes"));
  if (!result.problems.empty()) {
    page.line(fmt::format("{} {}; readable: {}", page.paint(Ink::red, "DAMAGED:"),
                          core::counted(result.problems.size(), "problem"), seen));
  } else if (!result.empty.empty()) {
    page.line(fmt::format("{} nothing was recorded: {}", page.paint(Ink::yellow, "EMPTY:"),
                          escaped(result.empty)));
  } else {
    page.line(fmt::format("{} {}", page.paint(Ink::green, "SOUND:"), seen));
    if (!result.incomplete.empty())
      page.line(fmt::format("incomplete: {}", escaped(result.incomplete)));
  }
  std::cout << page.text() << std::flush;
}

void print_json(const std::string& dump, const dump::VerifyResult& result) {
  const Json document{{"format", "ulpscope-verify"},
                      {"schema_version", 1},
                      {"dump", dump},
                      {"sound", result.sound()},
                      {"empty", !result.empty.empty()},
                      {"reason", known(result.empty.empty() ? result.incomplete : result.empty)},
                      {"segments", result.segments},
                      {"events", integer(result.events)},
                      {"contents", integer(result.contents)},
                      {"problems", strings(result.problems)}};
  std::cout << text_of(document) << std::flush;
}

int run_verify(const Command& command, Arguments arguments) {
  std::string dump;
  Format format = Format::text;
  OutputOptions output;
  Options options(command);
  options.positional("DUMP", "the dump", dump);
  attach_format(options, format);
  output.attach(options);
  if (!options.parse(std::move(arguments))) return 0;

  const std::filesystem::path directory = whole_dump(dump);
  const dump::VerifyResult result = [&directory] {
    Working working("verifying");
    bool begun = false;
    return dump::verify(directory, [&](std::uint64_t done, std::uint64_t all) {
      if (!begun) working.begin("verifying", WorkUnit::bytes, all);
      begun = true;
      working.reach(done);
    });
  }();
  if (format == Format::json) {
    print_json(dump, result);
  } else {
    print_text(result, output.terminal());
  }
  if (!result.problems.empty()) return static_cast<int>(Exit::different);
  return static_cast<int>(result.empty.empty() ? Exit::same : Exit::trouble);
}

}  // namespace

const Command kVerifyCommand{
    "verify",
    "Check every byte of a dump against its digests.",
    "DUMP [OPTIONS]",
    "Reads the whole dump and reports each damaged segment, block and value, and each file that is "
    "missing or from a different recording. compare checks only what it reads; this checks all.\n"
    "Exit codes: 0 sound, 1 damaged, 2 trouble, also where nothing was recorded.",
    "ulpscope verify runs/a\n"
    "ulpscope verify golden && ulpscope compare golden new",
    Exit::trouble,
    run_verify};

}  // namespace ulpscope::cli
