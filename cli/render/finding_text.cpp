#include "cli/render/finding_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cli/render/difference_text.hpp"
#include "cli/render/tolerance_text.hpp"
#include "cli/render/wording.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/table.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t kMostTensors = 12;
constexpr std::size_t kLeastName = 12;
constexpr std::size_t kLongArgument = 48;

std::string joined(const std::vector<std::string>& names, std::string_view separator) {
  std::vector<std::string> safe;
  for (const std::string& name : names) safe.push_back(escaped(name));
  return fmt::format("{}", fmt::join(safe, separator));
}

/// An in-place op returns the argument that it has modified, which is listed already.
bool is_modified_argument(const Finding& finding, const TensorReport& tensor) {
  const auto same = [&](const TensorReport& other) {
    const auto differing = [](const TensorReport& one) {
      return one.difference ? one.difference->differing : 0;
    };
    return other.role == Role::mutated && other.dtype == tensor.dtype &&
           other.shape.reference == tensor.shape.reference &&
           other.shape.candidate == tensor.shape.candidate && other.equal == tensor.equal &&
           differing(other) == differing(tensor);
  };
  return tensor.role == Role::output && finding.op.ends_with('_') &&
         std::any_of(finding.tensors.begin(), finding.tensors.end(), same);
}

void print_headline(const Report& report, const Finding& finding, Page& page) {
  const bool error = is_error(finding, report);
  const Ink ink = error ? Ink::red : Ink::yellow;
  const std::string tag = fmt::format("{}[{}]", error ? "error" : "note", name(finding.kind));
  const std::size_t room = std::max<std::size_t>(page.terminal().width, kLeastName);
  const std::vector<std::string> lines =
      wrapped(fmt::format("{}: {}", tag, headline(finding)), room);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i == 0 && lines[0].size() > tag.size()) {
      page.line(page.paint(ink, tag) + page.paint(Ink::bold, lines[0].substr(tag.size())));
    } else {
      page.line(page.paint(Ink::bold, lines[i]));
    }
  }

  const std::string where = place(finding, report);
  const std::string events = event_numbers(finding);
  const std::size_t used = 6 + display_width(where);
  const std::string arrow = page.paint(Ink::blue, "-->");
  if (events.empty() && used <= page.terminal().width)
    return page.line(fmt::format("  {} {}", arrow, where));
  if (used + 2 + display_width(events) <= page.terminal().width) {
    const std::size_t fill = page.terminal().width - used - display_width(events);
    page.line(fmt::format("  {} {}{}{}", arrow, where, std::string(fill, ' '),
                          page.paint(Ink::dim, events)));
    return;
  }
  std::string head = fmt::format("  {} ", arrow);
  for (const std::string& part : wrapped(where, page.terminal().width - 6)) {
    page.line(head + part);
    head = "      ";
  }
  if (!events.empty()) page.line(fmt::format("      {}", page.paint(Ink::dim, events)));
}

/// What the op calls, where that differs; of an op that runs in one run only, just that.
void print_children(const Finding& finding, Page& page) {
  if (finding.children.reference == finding.children.candidate) return;
  const auto print = [&page](std::string_view label, const std::vector<std::string>& names) {
    page.framed_labelled(label,
                         fmt::format("calls {}", names.empty() ? "nothing" : joined(names, ", ")));
  };
  if (finding.event.reference) print("reference", finding.children.reference);
  if (finding.event.candidate) print("candidate", finding.children.candidate);
}

/// A kernel's name without its return type and the types of its parameters.
std::string kernel_name(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  if (name.ends_with(')')) {
    std::size_t open = 0;
    for (std::size_t at = name.size(); at-- > 0;) {
      if (name[at] == ')') ++open;
      if (name[at] == '(' && --open == 0) {
        name = name.substr(0, at);
        break;
      }
    }
  }
  return escaped(name);
}

/// Which kernels the op launched, where both runs say so and it was not the same ones.
void print_kernels(const Finding& finding, Page& page) {
  const auto& [reference, candidate] = finding.kernels;
  if (reference.empty() || candidate.empty() || reference == candidate) return;
  const auto print = [&page](std::string_view label, const std::vector<std::string>& names) {
    std::vector<std::string> shown;
    for (const std::string& name : names) shown.push_back(kernel_name(name));
    page.framed_labelled(label, fmt::format("launches {}", fmt::join(shown, ", ")));
  };
  print("reference", reference);
  print("candidate", candidate);
}

void print_op(const Finding& finding, Page& page) {
  std::vector<std::string> facts;
  if (!finding.device.empty()) facts.push_back(escaped(finding.device));
  if (!finding.root.empty()) facts.push_back(fmt::format("in {}", escaped(finding.root)));
  if (finding.module && finding.between) facts.push_back(between_words(*finding.between));
  if (!finding.where.empty()) facts.push_back(escaped(finding.where));
  const std::string facts_text = fmt::format("{}", fmt::join(facts, ", "));
  page.framed(fmt::format("{}{}{}", page.paint(Ink::bold, op_name(finding)),
                          facts.empty() ? "" : "  ", page.paint(Ink::dim, facts_text)));
  if (!finding.source.empty()) page.framed_labelled("line", escaped(finding.source));
  if (!finding.parents.empty()) page.framed_labelled("called by", joined(finding.parents, " > "));
  if (!finding.forward_op.empty()) {
    page.framed_labelled("forward op", escaped(finding.forward_op));
  }
  print_children(finding, page);
  print_kernels(finding, page);
}

Cell mark(bool equal) { return equal ? Cell{"=", Ink::green} : Cell{"x", Ink::red}; }

std::string argument_text(const std::optional<std::string>& value) {
  return value ? escaped(*value) : "absent";
}

std::string argument_change(const ArgumentReport& argument) {
  return fmt::format("{} -> {}", argument_text(argument.reference),
                     argument_text(argument.candidate));
}

/// Of a tensor of a file there is no op to name.
void print_tensor(const Finding& finding, Page& page) {
  const TensorReport& tensor = finding.tensors.front();
  const bool alone = finding.kind == FindingKind::sequence;
  if (alone) {
    TensorReport only = tensor;
    if (!finding.event.reference) only.shape.reference = tensor.shape.candidate;
    only.shape.candidate = only.shape.reference;
    if (tensor.dtype != Dtype::undefined) page.framed(type_and_shape(only));
    return;
  }
  const std::string result =
      finding.kind == FindingKind::parameter ? "  x  " + outcome(tensor) : std::string();
  page.framed(type_and_shape(tensor) + page.paint(Ink::red, result));
  for (const ArgumentReport& argument : finding.arguments)
    page.framed_labelled(argument.name, argument_change(argument));
}

bool is_long(const ArgumentReport& argument) {
  return display_width(argument_change(argument)) > kLongArgument;
}

/// What does not go into a row, in full.
void print_long_arguments(const Finding& finding, Page& page) {
  for (const ArgumentReport& argument : finding.arguments) {
    if (!is_long(argument)) continue;
    page.framed();
    page.framed(page.paint(Ink::bold, fmt::format("arg {}", escaped(argument.name))));
    page.framed_labelled("reference", argument_text(argument.reference));
    page.framed_labelled("candidate", argument_text(argument.candidate));
  }
}

/// Rows of label, name, detail, mark and outcome: the detail on a separate line, if the width is
/// not enough for all.
void print_slots(const std::vector<std::vector<Cell>>& rows, Page& page) {
  Table table;
  for (const auto& row : rows) table.row(row);
  const std::size_t room = page.framed_width() - 2;
  table.fit(1, room, kLeastName, page.terminal());
  if (table.width() <= room) {
    for (const std::string& line : table.lines(page.terminal()))
      page.framed(fmt::format("  {}", line));
    return;
  }
  Table names;
  for (const auto& row : rows) {
    names.row({row[0], row[1], {fmt::format("{} {}", row[3].text, row[4].text), row[4].ink}});
    if (!row[2].text.empty()) names.row({{}, {}, row[2]});
  }
  names.fit(1, room, kLeastName, page.terminal());
  for (const std::string& line : names.lines(page.terminal()))
    page.framed(fmt::format("  {}", line));
}

void print_slots(const Report& report, const Finding& finding, bool differing_only, Page& page) {
  std::vector<std::vector<Cell>> rows;
  const auto different = static_cast<std::size_t>(std::count_if(
      finding.tensors.begin(), finding.tensors.end(), [&](const TensorReport& tensor) {
        return !tensor.equal && !is_modified_argument(finding, tensor);
      }));
  std::size_t room_different = std::min(different, kMostTensors);
  std::size_t room_equal = differing_only ? 0 : kMostTensors - room_different;
  const std::size_t left_out_different = different - room_different;
  std::size_t left_out_equal = 0;
  for (const TensorReport& tensor : finding.tensors) {
    if (is_modified_argument(finding, tensor)) continue;
    std::size_t& room = tensor.equal ? room_equal : room_different;
    if (room == 0) {
      if (tensor.equal) ++left_out_equal;
      continue;
    }
    --room;
    std::string detail;
    if (!differing_only) {
      detail = type_and_shape(tensor);
    } else if (tensor.difference) {
      detail = distance(*tensor.difference) + judged_text(tensor, report);
    }
    rows.push_back({{slot_label(tensor)},
                    {escaped(tensor.name)},
                    {std::move(detail), Ink::dim},
                    mark(tensor.equal),
                    {outcome(tensor), tensor.equal ? Ink::plain : Ink::red}});
  }
  for (const ArgumentReport& argument : finding.arguments) {
    rows.push_back(
        {{"arg"},
         {escaped(argument.name)},
         {argument.of.empty() ? "" : fmt::format("of {}", escaped(argument.of)), Ink::dim},
         mark(false),
         {is_long(argument) ? "differs" : argument_change(argument), Ink::red}});
  }
  if (!rows.empty()) {
    if (!differing_only) page.framed();
    print_slots(rows, page);
  }
  if (left_out_different != 0) {
    page.framed(fmt::format("  and {} that {}", core::counted(left_out_different, "more tensor"),
                            left_out_different == 1 ? "differs" : "differ"));
  }
  if (left_out_equal != 0 && !differing_only) {
    page.framed(fmt::format("  and {}, identical", core::counted(left_out_equal, "more tensor")));
  }
  print_long_arguments(finding, page);
}

/// Leaves the first of each list of tensors; returns how many it has taken out.
std::size_t shorten_lists(std::vector<const TensorReport*>& tensors) {
  std::set<std::pair<Role, std::uint16_t>> known;
  return std::erase_if(tensors, [&](const TensorReport* tensor) {
    return !known.emplace(tensor->role, tensor->index).second;
  });
}

void print_differences(const Report& report, const Finding& finding, Page& page) {
  std::vector<const TensorReport*> differing;
  for (const TensorReport& tensor : finding.tensors)
    if (!tensor.equal && tensor.difference && !is_modified_argument(finding, tensor))
      differing.push_back(&tensor);
  // For an op that is judged on its own inputs, its results come first.
  if (judged_on_own_inputs(finding))
    std::stable_partition(differing.begin(), differing.end(),
                          [](const TensorReport* tensor) { return tensor->role != Role::input; });
  const std::size_t more = shorten_lists(differing);
  for (const TensorReport* tensor : differing) {
    if (tensor == differing.front()) {
      render_difference(report, finding, *tensor, page);
      continue;
    }
    page.framed();
    page.framed(fmt::format("{}: {}", page.paint(Ink::bold, slot_title(*tensor)),
                            distance(*tensor->difference) + judged_text(*tensor, report)));
  }
  if (more == 0) return;
  page.framed();
  page.framed(
      fmt::format("and {} of lists: see --format json", core::counted(more, "more tensor")));
}

std::string_view neighbour_mark(const Neighbour& neighbour) {
  if (neighbour.note == "only in candidate") return "+";
  if (neighbour.note == "only in reference") return "-";
  return neighbour.equal ? "=" : "x";
}

/// If the width is not enough, the table omits modules.
Table neighbour_table(const Finding& finding, bool modules) {
  Table table;
  for (const Neighbour& neighbour : finding.neighbours) {
    std::string remark = escaped(neighbour.note);
    if (neighbour.finding) {
      remark = modules && finding.diverges ? "<-- first difference" : "<--";
    }
    const Ink ink = neighbour.finding ? Ink::bold : Ink::plain;
    std::vector<Cell> row{
        {std::string(neighbour_mark(neighbour)), neighbour.equal ? Ink::green : Ink::red},
        {neighbour.event == kNone ? "" : fmt::format("{}", neighbour.event), Ink::dim, true},
        {escaped(neighbour.op), ink}};
    if (modules) row.push_back({escaped(neighbour.module), ink});
    row.push_back({remark, neighbour.finding ? Ink::red : Ink::dim});
    table.row(std::move(row));
  }
  return table;
}

void print_neighbours(const Finding& finding, Page& page) {
  if (finding.neighbours.empty()) return;
  Table table = neighbour_table(finding, true);
  if (table.width() > page.framed_width()) table = neighbour_table(finding, false);
  table.fit(2, page.framed_width(), kLeastName, page.terminal());
  page.framed();
  for (const std::string& line : table.lines(page.terminal())) page.framed(line);
}

bool bytes_missing(const Finding& finding) {
  return !finding.of_file &&
         std::any_of(finding.tensors.begin(), finding.tensors.end(), [](const TensorReport& t) {
           return !t.equal && !t.difference && t.shape.reference == t.shape.candidate;
         });
}

/// Both dumps hold the bytes of all values: there is nothing more to record.
bool holds_bytes(const Report& report) {
  return report.reference.level == "full" && report.candidate.level == "full";
}

/// The command that shows the event, in the reference if it has it.
void print_inspect(const Report& report, const Finding& finding, Page& page) {
  const auto& event = finding.event.reference ? finding.event.reference : finding.event.candidate;
  const RunSummary& run = finding.event.reference ? report.reference : report.candidate;
  if (!event) return;
  page.remark(Ink::bold, "help",
              fmt::format("ulpscope inspect {} {}", escaped(shell_quoted(run.path)),
                          event_path(finding, *event)));
}

void print_cause(const Cause& cause, Page& page) {
  page.remark(Ink::bold, "cause",
              fmt::format("{} ({})", escaped(cause.id), name(cause.confidence)));
  for (const std::string& evidence : cause.evidence) page.detail("for", escaped(evidence));
  for (const std::string& against : cause.against) page.detail("against", escaped(against));
  if (!cause.tested) return;
  for (const std::string& attempt : cause.attempt)
    page.detail("try", escaped(attempt), Page::Wrap::no);
}

/// An origin whose bytes are in both dumps can be replayed.
bool can_be_explained(const Report& report, const Finding& finding) {
  const bool tested =
      std::any_of(report.causes.begin(), report.causes.end(),
                  [](const Cause& cause) { return cause.finding == 0 && cause.tested; });
  return finding.kind == FindingKind::origin && !tested && !report.causes.empty() &&
         !bytes_missing(finding);
}

}  // namespace

void render_first_finding(const Report& report, std::size_t index, Page& page) {
  const Finding& finding = report.findings[index];
  print_headline(report, finding, page);
  page.framed();
  if (finding.of_file) {
    print_tensor(finding, page);
  } else {
    print_op(finding, page);
    print_slots(report, finding, false, page);
  }
  print_differences(report, finding, page);
  print_neighbours(finding, page);
  page.framed();
  for (const std::string& note : finding.notes) page.remark(Ink::bold, "note", escaped(note));
  if (bytes_missing(finding) && !holds_bytes(report)) {
    page.remark(Ink::bold, "help",
                "record both runs with --level full to see how many ULP they are apart");
  }
  const Cause* first = nullptr;
  for (const Cause& cause : report.causes) {
    if (cause.finding != index) continue;
    if (first == nullptr) first = &cause;
    print_cause(cause, page);
  }
  if (first != nullptr) {
    page.remark(Ink::bold, "help", fmt::format("ulpscope explain {}", escaped(first->id)));
  }
  if (index == 0 && can_be_explained(report, finding)) {
    page.remark(Ink::bold, "help",
                fmt::format("ulpscope compare --explain {} {} tests it",
                            escaped(shell_quoted(report.reference.path)),
                            escaped(shell_quoted(report.candidate.path))));
  }
  if (!finding.of_file) print_inspect(report, finding, page);
}

void render_further_finding(const Report& report, std::size_t index, Page& page) {
  const Finding& finding = report.findings[index];
  print_headline(report, finding, page);
  print_op(finding, page);
  print_slots(report, finding, true, page);
  for (const Cause& cause : report.causes) {
    if (cause.finding != index) continue;
    page.remark(Ink::bold, "cause",
                fmt::format("{} ({})", escaped(cause.id), name(cause.confidence)));
    break;
  }
}

}  // namespace ulpscope::cli
