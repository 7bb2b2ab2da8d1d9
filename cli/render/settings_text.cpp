#include "cli/render/settings_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/base/words.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/table.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t kLabel = 13;     // "  reference  "
constexpr std::size_t kWordList = 12;  // words from which on a value is a list of them

std::string text_of(const std::optional<std::string>& value) {
  return value ? escaped(*value) : "(unset)";
}

void print_labelled(std::string_view label, std::string_view text, Page& page) {
  std::string head = padded(fmt::format("  {}", label), kLabel);
  const std::size_t width = page.terminal().width;
  for (const std::string& line : wrapped(text, std::max(width - std::min(width, kLabel), kLabel))) {
    page.line(page.paint(Ink::dim, head) + line);
    head.assign(kLabel, ' ');
  }
}

/// The words of `of` that are not among those of `other`.
std::string words_alone(const std::string& of, const std::string& other) {
  const std::vector<std::string> known = split(other, ' ');
  const std::set<std::string> others(known.begin(), known.end());
  std::string alone;
  for (const std::string& word : split(of, ' ')) {
    if (!others.contains(word)) alone += (alone.empty() ? "" : " ") + word;
  }
  return alone;
}

bool is_word_list(const std::optional<std::string>& value) {
  return value && split(*value, ' ').size() >= kWordList;
}

void print_long(const SettingPair& pair, Page& page) {
  page.line(escaped(pair.key));
  const auto print = [&page](std::string_view label, const std::optional<std::string>& value,
                             const std::optional<std::string>& other) {
    const std::string alone =
        is_word_list(value) && is_word_list(other) ? words_alone(*value, *other) : "";
    print_labelled(label, alone.empty() ? text_of(value) : "only here: " + escaped(alone), page);
  };
  print("reference", pair.reference, pair.candidate);
  print("candidate", pair.candidate, pair.reference);
}

void print_group(std::string_view heading, const std::vector<const SettingPair*>& pairs,
                 Page& page) {
  if (pairs.empty()) return;
  Table table;
  table.row({{std::string(heading), Ink::dim}, {"reference", Ink::dim}, {"candidate", Ink::dim}});
  std::vector<const SettingPair*> long_ones;
  for (const SettingPair* pair : pairs) {
    Table alone;
    alone.row({{std::string(heading)}, {text_of(pair->reference)}, {text_of(pair->candidate)}});
    alone.row({{escaped(pair->key)}});
    if (alone.width() > page.terminal().width) {
      long_ones.push_back(pair);
      continue;
    }
    table.row({{escaped(pair->key)},
               {text_of(pair->reference), Ink::yellow},
               {text_of(pair->candidate), Ink::yellow}});
  }
  if (table.width() > page.terminal().width) {
    long_ones = pairs;  // each fits alone, but not together
  }
  if (long_ones.size() < pairs.size()) {
    for (const std::string& line : table.lines(page.terminal())) page.line(line);
  } else {
    page.line(page.paint(Ink::dim, heading));
  }
  for (const SettingPair* pair : long_ones) print_long(*pair, page);
  page.line();
}

}  // namespace

void render_differing_settings(std::span<const SettingPair> pairs, Page& page) {
  for (const bool weighty : {true, false}) {
    std::vector<const SettingPair*> group;
    for (const SettingPair& pair : pairs) {
      if (!pair.equal() && pair.can_change_bits == weighty) group.push_back(&pair);
    }
    print_group(weighty ? "differ and can change bits" : "differ and cannot", group, page);
  }
}

void render_equal_settings(std::span<const SettingPair> pairs, Page& page) {
  std::size_t column = 0;
  for (const SettingPair& pair : pairs) {
    if (pair.equal()) column = std::max(column, display_width(escaped(pair.key)) + 2);
  }
  if (column == 0) return;
  column = std::min(column, page.terminal().width / 2);
  page.line(page.paint(Ink::dim, "equal"));
  for (const SettingPair& pair : pairs) {
    if (!pair.equal()) continue;
    std::string head = padded(escaped(pair.key), column);
    if (display_width(head) > column) {
      page.line(head);
      head.assign(column, ' ');
    }
    for (const std::string& line :
         wrapped(text_of(pair.reference), page.terminal().width - column)) {
      page.line(head + line);
      head.assign(column, ' ');
    }
  }
  page.line();
}

}  // namespace ulpscope::cli
