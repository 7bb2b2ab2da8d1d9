#include "cli/render/event_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "cli/render/event_words.hpp"
#include "cli/render/value_text.hpp"
#include "cli/term/escape.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

std::string joined(const std::vector<Word>& words) {
  std::vector<std::string_view> texts;
  for (const Word& word : words) texts.push_back(word.text);
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string op_text(const Event& event) {
  std::string result = escaped(event.op);
  if (!event.overload.empty()) result += fmt::format(".{}", escaped(event.overload));
  return result;
}

/// A row for each tensor or, where the width does not do for that, its digest and flags on lines of
/// their own.
Table slot_table(const Event& event, bool one_row) {
  Table table;
  for (const Slot& slot : event.slots) {
    std::string index = fmt::format("{} {}", name(slot.role), slot.index);
    if (slot.element != 0) index += fmt::format("[{}]", slot.element);
    const bool hashed = (slot.flags & (slot_flag::undefined | slot_flag::no_digest)) == 0;
    std::vector<Cell> row{
        {index},
        {escaped(slot_name(event, slot))},
        {slot.geometry == nullptr ? std::string() : geometry_text(*slot.geometry)}};
    const Cell digest{hashed ? to_string(slot.digest) : "-", Ink::dim};
    const Cell flags{joined(slot_states(slot.flags)), Ink::dim};
    if (one_row) row.insert(row.end(), {digest, flags});
    table.row(std::move(row));
    if (one_row) continue;
    if (hashed) table.row({{}, {}, digest});
    if (!flags.text.empty()) table.row({{}, {}, flags});
  }
  return table;
}

void print_slots(const Event& event, Page& page) {
  if (event.slots.empty()) return;
  Table table = slot_table(event, true);
  if (table.width() + 2 > page.terminal().width) table = slot_table(event, false);
  page.line();
  for (const std::string& line : table.lines(page.terminal())) page.line(fmt::format("  {}", line));
}

void print_arguments(const Event& event, Page& page) {
  const std::vector<Argument> all = arguments(event);
  if (all.empty()) return;
  Table table;
  for (const Argument& argument : all) {
    table.row({{fmt::format("{} {}", argument.result ? "result" : "argument", argument.index)},
               {escaped(argument.name)},
               {escaped(argument.text)}});
  }
  page.line();
  for (const std::string& line : table.lines(page.terminal())) page.line(fmt::format("  {}", line));
}

}  // namespace

std::vector<Cell> event_row(const Event& event) {
  constexpr std::uint16_t kDeepest = 24;  // deeper indentation would not add information
  const std::string indent(2U * std::min(event.depth, kDeepest), ' ');
  return {{core::grouped(event.position), Ink::dim, true},
          {std::string(name(event.phase)), Ink::dim},
          {indent + op_text(event)},
          {event.has_module ? escaped(event.module.empty() ? event.root : event.module) : ""}};
}

void render_event(const Event& event, Page& page) {
  page.labelled("op", op_text(event), Ink::bold);
  page.labelled("kind",
                fmt::format("{}, {}, depth {}, {}", kind_word(event.kind).text, name(event.phase),
                            event.depth, core::counted(event.threads, "thread")));
  if (event.has_module) {
    page.labelled("module",
                  fmt::format("{}{}{}", escaped(event.module.empty() ? "(root)" : event.module),
                              event.module_type.empty() ? "" : " ", escaped(event.module_type)));
  }
  if (!event.root.empty()) page.labelled("root", escaped(event.root));
  if (event.parent != kNone) {
    page.labelled("called by", fmt::format("event {}", core::grouped(event.parent)));
  }
  if (event.forward != kNone) {
    page.labelled("forward op", fmt::format("event {} of lane {}", core::grouped(event.forward),
                                            event.forward_lane));
  }
  const std::string flags = joined(event_states(event.flags));
  if (!flags.empty()) page.labelled("state", flags);
  if ((event.flags & event_flag::seeded) != 0) {
    page.labelled("random", fmt::format("seed {}, state {} before, {} after", event.rng.seed,
                                        to_string(event.rng.before), to_string(event.rng.after)));
  }
  std::string_view stack = event.stack;
  for (std::string_view label = "stack"; !stack.empty(); label = "") {
    const std::size_t end = std::min(stack.find('\n'), stack.size());
    std::string call(stack.substr(0, end));
    // Behind the text of the line is the file's directory, which no one asks for here.
    if (const std::size_t tab = call.find('\t'); tab != std::string::npos) {
      call.resize(std::min(call.find('\t', tab + 1), call.size()));
      call.replace(tab, 1, call.size() > tab + 1 ? ": " : "");
    }
    page.labelled(label, escaped(call));
    stack.remove_prefix(std::min(end + 1, stack.size()));
  }
  print_arguments(event, page);
  print_slots(event, page);
}

}  // namespace ulpscope::cli
