#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"

namespace ulpscope::cli {

/// The options of one command. A value comes from the flag, then from the environment variable,
/// then it is the default. CLI11 takes the words apart; here every option has its variable, every
/// value is checked where it is set, and every error names the option or variable and a way out.
class Options {
 public:
  /// Called with where the value came from ("--width", "ULPSCOPE_WIDTH") and the value.
  using Set = std::function<void(const std::string& source, const std::string& value)>;

  explicit Options(const Command& command);

  /// `names` as CLI11 has them ("-o,--output"), `placeholder` for the help, `variable` without the
  /// prefix ULPSCOPE_. `repeats`: may be given several times; in the variable separated by commas.
  void value(const std::string& names, const std::string& placeholder, const std::string& variable,
             const std::string& description, Set set, bool repeats = false);
  void flag(const std::string& names, const std::string& variable, const std::string& description,
            bool& target);
  void positional(const std::string& placeholder, const std::string& description,
                  std::string& target, bool required = true);

  /// False when help was asked for and printed: there is nothing left to do.
  /// @throws Error with ErrorCode::usage.
  [[nodiscard]] bool parse(Arguments arguments);

  /// How many of `arguments` are options and their values, up to "--" or the first other word.
  [[nodiscard]] std::size_t leading_options(const Arguments& arguments) const;

 private:
  struct Option {
    std::string names;
    std::string placeholder;  ///< empty for a flag
    std::string variable;
    std::string description;
    bool repeats = false;
    Set set;
    CLI::Option* parsed = nullptr;
  };
  struct Positional {
    std::string placeholder;
    std::string description;
    std::string* target = nullptr;
    bool required = true;
    CLI::Option* parsed = nullptr;
  };

  void refuse_unknown_words() const;
  void apply(const Option& option) const;
  void print_help(bool everything) const;
  [[nodiscard]] std::string help_hint() const;

  const Command& command_;
  CLI::App app_;
  std::vector<Option> options_;
  std::vector<Positional> positionals_;
};

/// Values of options, or an Error that names `source`.
[[nodiscard]] std::uint64_t whole_number(const std::string& source, const std::string& value);
[[nodiscard]] std::int64_t signed_number(const std::string& source, const std::string& value);
[[nodiscard]] double tolerance(const std::string& source, const std::string& value);
/// Bytes: "4096", "64K", "8M", "1G" (powers of two).
[[nodiscard]] std::uint64_t size_in_bytes(const std::string& source, const std::string& value);
/// The index of `value` in `choices`.
[[nodiscard]] std::size_t choice(const std::string& source, const std::string& value,
                                 const std::vector<std::string>& choices);

}  // namespace ulpscope::cli
