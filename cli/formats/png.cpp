#include "cli/formats/png.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "cli/base/filter.hpp"
#include "cli/formats/svg.hpp"
#include "cli/term/escape.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

constexpr const char* kProgram = "rsvg-convert";
constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";

[[noreturn]] void fail(const std::string& why) {
  throw Error(ErrorCode::io,
              fmt::format("{} (Debian package librsvg2-bin), which draws PNGs, {}", kProgram, why),
              "install librsvg2-bin, or write the picture as svg=report.svg");
}

/// What it prints.
std::string run(std::vector<std::string> options, std::string_view input) try {
  options.insert(options.begin(), kProgram);
  Filtered result = filter(options, input);
  if (result.exit_code == 0) return std::move(result.output);
  const std::string line = result.errors.substr(0, result.errors.find('\n'));
  fail(fmt::format("ended with exit code {}{}{}", result.exit_code, line.empty() ? "" : ": ",
                   escaped(line)));
} catch (const std::system_error& error) {
  fail(error.code().value() == ENOENT ? "is not on PATH"
                                      : "cannot be run: " + error.code().message());
}

}  // namespace

void render_png(const Report& report, std::ostream& out) {
  std::ostringstream svg;
  render_svg(report, svg);
  const std::string picture = run({"--format=png", "--zoom=2"}, svg.view());
  if (!picture.starts_with(kSignature)) fail("has drawn none");
  out << picture;
}

void require_png() { run({"--version"}, {}); }

}  // namespace ulpscope::cli
