#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/command.hpp"
#include "cli/options/help.hpp"
#include "cli/options/option_values.hpp"

namespace ulpscope::cli {

/// The options of one command. A value comes from the flag, then from the environment variable,
/// then it is the default. CLI11 parses the words; here every option has its variable, every
/// value is checked where it is set, and every error names the option or variable and a solution.
class Options {
 public:
  /// Called with where the value came from ("--width", "ULPSCOPE_WIDTH") and the value.
  using Set = std::function<void(const std::string& source, const std::string& value)>;

  explicit Options(const Command& command);

  class Option {
   public:
    /// Sentences that only --help has, after the description.
    Option& more(std::string text);
    /// Only --help lists it.
    Option& rare();

   private:
    friend class Options;
    Option(OptionHelp of, bool may_repeat, Set to_set, CLI::Option* by_parser)
        : help(std::move(of)), repeats(may_repeat), set(std::move(to_set)), parsed(by_parser) {}

    OptionHelp help;
    bool repeats;
    Set set;
    CLI::Option* parsed;
  };

  /// `names` in CLI11's syntax ("-o,--output"), `placeholder` for the help ("N", "on|off"),
  /// `variable` without the prefix ULPSCOPE_, `description` for one line of 50 columns.
  /// `repeats`: may be given several times; in the variable separated by commas.
  /// The returned reference is valid until the next option is added.
  Option& value(const std::string& names, const std::string& placeholder,
                const std::string& variable, const std::string& description, Set set,
                bool repeats = false);
  Option& flag(const std::string& names, const std::string& variable,
               const std::string& description, bool& target);
  void positional(const std::string& placeholder, const std::string& description,
                  std::string& target, bool required = true);
  /// One word or more; comes last.
  void positionals(const std::string& placeholder, const std::string& description,
                   std::vector<std::string>& target);

  /// False when help was requested and printed: there is nothing left to do.
  /// @throws Error with ErrorCode::usage.
  [[nodiscard]] bool parse(Arguments arguments);

  /// How many of `arguments` are options and their values, up to "--" or the first other word.
  [[nodiscard]] std::size_t leading_options(const Arguments& arguments) const;

 private:
  struct Positional {
    std::string placeholder;
    bool required = true;
    CLI::Option* parsed = nullptr;
  };

  Option& add(Option option);
  void refuse_unknown_words() const;
  [[noreturn]] void refuse_missing_value(const std::string& complaint) const;
  void apply(const Option& option) const;
  [[nodiscard]] bool print_help_if_asked();
  [[nodiscard]] std::string help_hint() const;

  const Command& command_;
  CLI::App app_;
  CommandHelp help_;
  std::vector<Option> options_;
  std::vector<Positional> positionals_;
};

}  // namespace ulpscope::cli
