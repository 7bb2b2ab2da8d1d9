#include "cli/options/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "cli/base/nearest.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::string_view kVariablePrefix = "ULPSCOPE_";
// For the build, which makes the manual page and the reference with them.
constexpr const char* kManual = "--roff";
constexpr const char* kReference = "--markdown";

[[noreturn]] void refuse_usage(const std::string& message, const std::string& hint) {
  throw Error(ErrorCode::usage, message, hint);
}

/// The name that errors speak of: the long one.
std::string long_name(const std::string& names) { return split(names, ',').back(); }

}  // namespace

Options::Options(const Command& command) : command_(command) {
  app_.set_help_flag();
  app_.allow_extras();
  app_.add_flag("-h");
  app_.add_flag("--help");
  app_.add_flag(kManual);
  app_.add_flag(kReference);
  help_.command = &command;
}

Options::Option& Options::Option::more(std::string text) {
  help.details = std::move(text);
  return *this;
}

Options::Option& Options::Option::rare() {
  help.rare = true;
  return *this;
}

Options::Option& Options::value(const std::string& names, const std::string& placeholder,
                                const std::string& variable, const std::string& description,
                                Set set, bool repeats) {
  CLI::Option* parsed = app_.add_option(names)->expected(1)->take_last();
  if (repeats) parsed->take_all()->expected(1, 1 << 16)->allow_extra_args(false);
  return add({{names, placeholder, std::string(kVariablePrefix) + variable, description, {}, false},
              repeats,
              std::move(set),
              parsed});
}

Options::Option& Options::flag(const std::string& names, const std::string& variable,
                               const std::string& description, bool& target) {
  const Set set = [&target](const std::string& source, const std::string& value) {
    target = choice(source, value, {"0", "1", "false", "true"}) % 2 == 1;
  };
  return add({{names, {}, std::string(kVariablePrefix) + variable, description, {}, false},
              false,
              set,
              app_.add_flag(names)});
}

Options::Option& Options::add(Option option) {
  options_.push_back(std::move(option));
  return options_.back();
}

void Options::positional(const std::string& placeholder, const std::string& description,
                         std::string& target, bool required) {
  help_.positionals.push_back({placeholder, description});
  positionals_.push_back({placeholder, required, app_.add_option(placeholder, target)});
}

void Options::positionals(const std::string& placeholder, const std::string& description,
                          std::vector<std::string>& target) {
  help_.positionals.push_back({placeholder, description});
  positionals_.push_back({placeholder, true, app_.add_option(placeholder, target)});
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
          return !option.help.placeholder.empty() && option.parsed->check_name(bare);
        });
    if (takes_value && !carries_value && i < arguments.size()) ++i;
  }
  return i;
}

bool Options::parse(Arguments arguments) {
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes words from the back
  try {
    app_.parse(std::move(arguments));
  } catch (const CLI::ArgumentMismatch& error) {
    refuse_unknown_words();
    refuse_missing_value(error.what());
  } catch (const CLI::ParseError& error) {
    refuse_unknown_words();
    refuse_usage(error.what(), help_hint());
  }
  if (print_help_if_asked()) return false;
  refuse_unknown_words();
  for (const Positional& positional : positionals_) {
    if (positional.required && positional.parsed->count() == 0) {
      refuse_usage(fmt::format("{} needs {}", command_.name, positional.placeholder),
                   fmt::format("usage: ulpscope {} {}", command_.name, command_.synopsis));
    }
  }
  for (const Option& option : options_) apply(option);
  return true;
}

bool Options::print_help_if_asked() {
  const bool everything = app_.count("--help") != 0;
  const bool manual = app_.count(kManual) != 0;
  const bool reference = app_.count(kReference) != 0;
  if (!everything && !manual && !reference && app_.count("-h") == 0) return false;
  for (const Option& option : options_) help_.options.push_back(option.help);
  if (manual) {
    print_manual(help_);
  } else if (reference) {
    print_reference(help_);
  } else {
    print_help(help_, everything);
  }
  return true;
}

void Options::apply(const Option& option) const {
  if (option.parsed->count() != 0) {
    const std::string name = long_name(option.help.names);
    for (const std::string& value : option.parsed->results()) option.set(name, value);
    return;
  }
  const char* text = std::getenv(option.help.variable.c_str());
  if (text == nullptr || *text == '\0') return;
  if (!option.repeats) {
    option.set(option.help.variable, text);
    return;
  }
  for (const std::string& value : split(text, ',')) option.set(option.help.variable, value);
}

void Options::refuse_unknown_words() const {
  for (const std::string& word : app_.remaining()) {
    if (word.size() < 2 || word[0] != '-' || word == "--") continue;
    std::vector<std::string> names{"--help"};
    for (const Option& option : options_) {
      for (const std::string& name : split(option.help.names, ',')) names.push_back(name);
    }
    const std::string bare = word.substr(0, word.find('='));
    const std::string meant = nearest(bare, names);
    refuse_usage(fmt::format("{} has no option '{}'", command_.name, bare),
                 meant.empty() ? help_hint() : fmt::format("did you mean {}?", meant));
  }
  for (const std::string& word : app_.remaining()) {
    if (word == "--") continue;
    refuse_usage(fmt::format("{} does not take '{}'", command_.name, word),
                 fmt::format("usage: ulpscope {} {}", command_.name, command_.synopsis));
  }
}

/// `complaint` begins with the option's name and a colon.
void Options::refuse_missing_value(const std::string& complaint) const {
  const std::string name = complaint.substr(0, complaint.find(':'));
  for (const Option& option : options_) {
    if (!option.parsed->check_name(name)) continue;
    OptionHelp spelling;
    spelling.names = name;
    spelling.placeholder = option.help.placeholder;
    refuse_usage(fmt::format("{} {}", name,
                             spelling.placeholder.empty() ? "takes no value" : "needs a value"),
                 fmt::format("give it as {}", spelled(spelling)));
  }
  refuse_usage(complaint, help_hint());
}

std::string Options::help_hint() const {
  return fmt::format("ulpscope {} --help lists what it takes", command_.name);
}

}  // namespace ulpscope::cli
