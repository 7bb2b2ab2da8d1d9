#include "cli/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "cli/nearest.hpp"
#include "cli/term/terminal.hpp"
#include "cli/term/width.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::string_view kVariablePrefix = "ULPSCOPE_";

[[noreturn]] void refuse(const std::string& message, const std::string& hint) {
  throw Error(ErrorCode::usage, message, hint);
}

template <class T>
T number(const std::string& source, const std::string& value, std::string_view what) {
  T result{};
  const char* end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, result);
  if (error == std::errc::result_out_of_range) {
    refuse(fmt::format("{} is out of range: {}", source, value),
           fmt::format("{} takes {}", source, what));
  }
  if (error != std::errc{} || rest != end) {
    refuse(fmt::format("{} takes {}, not '{}'", source, what, value),
           fmt::format("give it as {} 4", source));
  }
  return result;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// "-o, --output"
std::string spelled(const std::string& names) {
  return fmt::format("{}", fmt::join(split(names, ','), ", "));
}

/// The name that errors speak of: the long one.
std::string long_name(const std::string& names) { return split(names, ',').back(); }

void print_columns(const std::string& left, std::string_view right, std::size_t column,
                   std::size_t width) {
  std::string head = fmt::format("  {}", padded(left, column));
  if (display_width(left) > column) {
    fmt::print("{}\n", head);
    head.assign(column + 2, ' ');
  }
  for (const std::string& line : wrapped(right, std::max<std::size_t>(width - column - 4, 20))) {
    fmt::print("{}  {}\n", head, line);
    head.assign(column + 2, ' ');
  }
}

}  // namespace

Options::Options(const Command& command) : command_(command) {
  app_.set_help_flag();
  app_.allow_extras();
  app_.add_flag("-h");
  app_.add_flag("--help");
}

void Options::value(const std::string& names, const std::string& placeholder,
                    const std::string& variable, const std::string& description, Set set,
                    bool repeats) {
  CLI::Option* parsed = app_.add_option(names)->expected(1)->take_last();
  if (repeats) parsed->take_all()->expected(1, 1 << 16)->allow_extra_args(false);
  options_.push_back({names, placeholder, std::string(kVariablePrefix) + variable, description,
                      repeats, std::move(set), parsed});
}

void Options::flag(const std::string& names, const std::string& variable,
                   const std::string& description, bool& target) {
  const Set set = [&target](const std::string& source, const std::string& value) {
    target = choice(source, value, {"0", "1", "false", "true"}) % 2 == 1;
  };
  options_.push_back({names,
                      {},
                      std::string(kVariablePrefix) + variable,
                      description,
                      false,
                      set,
                      app_.add_flag(names)});
}

void Options::positional(const std::string& placeholder, const std::string& description,
                         std::string& target, bool required) {
  positionals_.push_back(
      {placeholder, description, &target, required, app_.add_option(placeholder, target)});
}

std::size_t Options::leading_options(const Arguments& arguments) const {
  std::size_t i = 0;
  while (i < arguments.size()) {
    const std::string& word = arguments[i];
    if (word == "--" || word.size() < 2 || word[0] != '-') break;
    ++i;
    const bool is_long = word.starts_with("--");
    const bool carries_value = is_long ? word.find('=') != std::string::npos : word.size() > 2;
    const std::string bare = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
    const bool takes_value =
        std::any_of(options_.begin(), options_.end(), [&bare](const Option& option) {
          return !option.placeholder.empty() && option.parsed->check_name(bare);
        });
    if (takes_value && !carries_value && i < arguments.size()) ++i;
  }
  return i;
}

bool Options::parse(Arguments arguments) {
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes words from the back
  try {
    app_.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    refuse_unknown_words();
    refuse(error.what(), help_hint());
  }
  const bool everything = app_.count("--help") != 0;
  if (everything || app_.count("-h") != 0) {
    print_help(everything);
    return false;
  }
  refuse_unknown_words();
  for (const Positional& positional : positionals_) {
    if (positional.required && positional.parsed->count() == 0) {
      refuse(fmt::format("{} needs {}", command_.name, positional.placeholder),
             fmt::format("usage: ulpscope {} {}", command_.name, command_.synopsis));
    }
  }
  for (const Option& option : options_) apply(option);
  return true;
}

void Options::apply(const Option& option) const {
  if (option.parsed->count() != 0) {
    const std::string name = long_name(option.names);
    for (const std::string& value : option.parsed->results()) option.set(name, value);
    return;
  }
  const char* text = std::getenv(option.variable.c_str());
  if (text == nullptr || *text == '\0') return;
  if (!option.repeats) {
    option.set(option.variable, text);
    return;
  }
  for (const std::string& value : split(text, ',')) option.set(option.variable, value);
}

void Options::refuse_unknown_words() const {
  for (const std::string& word : app_.remaining()) {
    if (word.size() < 2 || word[0] != '-' || word == "--") continue;
    std::vector<std::string> names{"--help"};
    for (const Option& option : options_) {
      for (const std::string& name : split(option.names, ',')) names.push_back(name);
    }
    const std::string bare = word.substr(0, word.find('='));
    const std::string meant = nearest(bare, names);
    refuse(fmt::format("{} has no option '{}'", command_.name, bare),
           meant.empty() ? help_hint() : fmt::format("did you mean {}?", meant));
  }
  for (const std::string& word : app_.remaining()) {
    if (word == "--") continue;
    refuse(fmt::format("{} does not take '{}'", command_.name, word),
           fmt::format("usage: ulpscope {} {}", command_.name, command_.synopsis));
  }
}

std::string Options::help_hint() const {
  return fmt::format("ulpscope {} --help lists what it takes", command_.name);
}

void Options::print_help(bool everything) const {
  const std::size_t width = output_width(1);
  fmt::print("{}\n\nusage: ulpscope {} {}\n", command_.summary, command_.name, command_.synopsis);
  if (everything) {
    fmt::print("\n");
    for (const std::string& paragraph : split(std::string(command_.details), '\n')) {
      for (const std::string& line : wrapped(paragraph, width)) fmt::print("{}\n", line);
    }
  }
  const std::size_t column = 24;
  if (!positionals_.empty() && everything) fmt::print("\n");
  for (const Positional& positional : positionals_) {
    if (everything) {
      print_columns(positional.placeholder, positional.description, column, width);
    }
  }
  fmt::print("\noptions:\n");
  for (const Option& option : options_) {
    const std::string left = option.placeholder.empty()
                                 ? spelled(option.names)
                                 : fmt::format("{} {}", spelled(option.names), option.placeholder);
    print_columns(left,
                  everything ? fmt::format("{} [{}]", option.description, option.variable)
                             : option.description,
                  column, width);
  }
  print_columns("-h, --help", "one screen of help, all of it", column, width);
  fmt::print("\nexamples:\n");
  for (const std::string& example : split(std::string(command_.examples), '\n')) {
    fmt::print("  {}\n", example);
  }
}

std::uint64_t whole_number(const std::string& source, const std::string& value) {
  return number<std::uint64_t>(source, value, "a whole number");
}

std::int64_t signed_number(const std::string& source, const std::string& value) {
  return number<std::int64_t>(source, value, "a whole number");
}

double tolerance(const std::string& source, const std::string& value) {
  const double result = number<double>(source, value, "a number");
  if (!std::isfinite(result) || result < 0) {
    refuse(fmt::format("{} takes a number that is not negative, not '{}'", source, value),
           fmt::format("give it as {} 1e-6", source));
  }
  return result;
}

std::uint64_t size_in_bytes(const std::string& source, const std::string& value) {
  constexpr std::string_view kUnits = "KMGT";
  const std::size_t unit = value.empty() ? kUnits.npos : kUnits.find(value.back());
  const unsigned shift = unit == kUnits.npos ? 0 : 10 * (static_cast<unsigned>(unit) + 1);
  const std::string digits = shift == 0 ? value : value.substr(0, value.size() - 1);
  const auto count = number<std::uint64_t>(source, digits, "a size such as 8M");
  if (count > (~std::uint64_t{0} >> shift)) {
    refuse(fmt::format("{} is out of range: {}", source, value),
           fmt::format("{} takes a size such as 8M", source));
  }
  return count << shift;
}

std::size_t choice(const std::string& source, const std::string& value,
                   const std::vector<std::string>& choices) {
  const auto found = std::find(choices.begin(), choices.end(), value);
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  const std::string meant = nearest(value, choices);
  refuse(fmt::format("{} cannot be '{}'", source, value),
         meant.empty() ? fmt::format("it is one of {}", fmt::join(choices, ", "))
                       : fmt::format("did you mean {}?", meant));
}

}  // namespace ulpscope::cli
