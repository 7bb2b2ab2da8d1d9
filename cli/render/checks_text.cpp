#include "cli/render/checks_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/term/escape.hpp"
#include "compare/report/checks/check.hpp"
#include "compare/report/checks/workers.hpp"

namespace ulpscope::cli {
namespace {

using comparison::Check;

constexpr std::size_t kNameWidth = 12;
constexpr std::size_t kResultWidth = 8;
constexpr std::size_t kIndent = kNameWidth + kResultWidth;

Ink ink_of(Check::Result result) {
  switch (result) {
    case Check::Result::ok:
      return Ink::green;
    case Check::Result::look:
      return Ink::yellow;
    case Check::Result::unseen:
      return Ink::dim;
  }
  return Ink::plain;
}

/// `text` next to `head`, wrapped under itself.
void print(std::string head, std::string_view text, std::size_t indent, Page& page) {
  for (const std::string& line :
       wrapped(text, page.terminal().width - std::min(page.terminal().width, indent))) {
    page.line(head + line);
    head.assign(indent, ' ');
  }
}

void print_check(const Check& check, Page& page) {
  const std::string head =
      page.paint(Ink::bold, padded(check.name, kNameWidth)) +
      page.paint(ink_of(check.result), padded(comparison::name(check.result), kResultWidth));
  print(head, escaped(check.text), kIndent, page);
  for (const std::string& detail : check.details)
    print(std::string(kIndent + 2, ' '), escaped(detail), kIndent + 4, page);
}

}  // namespace

void render_checks(const Run& run, Page& page) {
  const auto ranks = run.ranks();
  for (const std::uint32_t rank : ranks) {
    if (ranks.size() > 1) page.line(page.paint(Ink::bold, fmt::format("rank {}", rank)));
    for (const Check& check : comparison::check_rank(run, rank)) print_check(check, page);
    if (ranks.size() > 1) page.line();
  }
  if (ranks.size() > 1) {
    print_check(comparison::check_workers(run), page);
    print_check(comparison::check_replicas(run), page);
  }
}

}  // namespace ulpscope::cli
