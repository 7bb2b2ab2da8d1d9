#include "cli/inputs/tolerance_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "cli/base/nearest.hpp"
#include "cli/inputs/toml.hpp"
#include "cli/term/escape.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::uintmax_t kLargestFile = 1 << 20;

struct Key {
  std::string_view name;
  std::string_view example;
};
constexpr std::array<Key, 7> kKeys{{{"op", "\"aten::convolution*\""},
                                    {"module", "\"layer2.*\""},
                                    {"max_ulp", "16"},
                                    {"rtol", "1e-5"},
                                    {"atol", "1e-8"},
                                    {"reason", "\"why this is expected\""},
                                    {"expires", "2027-01-31"}}};

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] std::vector<ToleranceRule> rules(const toml::table& document) const {
    std::vector<ToleranceRule> result;
    for (const auto& [key, node] : document) {
      if (key != "rule") refuse_key(key, {"rule"}, "a tolerance file has [[rule]] tables");
      const toml::array* list = node.as_array();
      if (list == nullptr || !list->is_homogeneous<toml::table>())
        refuse(node, "'rule' is a list of tables", "begin each rule with [[rule]]");
      for (const toml::node& rule : *list) result.push_back(read_rule(*rule.as_table()));
    }
    if (result.empty())
      throw Error(ErrorCode::usage, fmt::format("'{}' has no rules", escaped(path_)),
                  "begin each rule with [[rule]]");
    return result;
  }

  [[noreturn]] void refuse_syntax(const toml::parse_error& error) const {
    throw Error(ErrorCode::usage,
                fmt::format("{}: this is not TOML: {}", place(error.source().begin.line),
                            escaped(error.description())),
                "a tolerance file is TOML: [[rule]], then lines such as max_ulp = 16");
  }

 private:
  [[nodiscard]] ToleranceRule read_rule(const toml::table& table) const {
    ToleranceRule rule;
    rule.where = fmt::format("{}:{}", path_, table.source().begin.line);
    for (const auto& [key, node] : table) read_entry(key, node, rule);
    if (!rule.limits.any())
      refuse(table, "this rule allows nothing",
             "give it max_ulp, rtol or atol; max_ulp = 0 asks for equal bits");
    return rule;
  }

  void read_entry(const toml::key& key, const toml::node& node, ToleranceRule& rule) const {
    const std::string_view name = key;
    if (name == "op")
      rule.op = text(key, node);
    else if (name == "module")
      rule.module = text(key, node);
    else if (name == "reason")
      rule.reason = text(key, node);
    else if (name == "max_ulp")
      rule.limits.max_ulp = count(key, node);
    else if (name == "rtol")
      rule.limits.rtol = number(key, node);
    else if (name == "atol")
      rule.limits.atol = number(key, node);
    else if (name == "expires")
      rule.expires = date(key, node);
    else
      refuse_key(key, names(), fmt::format("a rule has {}", fmt::join(names(), ", ")));
  }

  [[nodiscard]] static std::vector<std::string> names() {
    std::vector<std::string> result;
    for (const Key& key : kKeys) result.emplace_back(key.name);
    return result;
  }

  [[nodiscard]] std::string text(const toml::key& key, const toml::node& node) const {
    if (const auto* value = node.as_string()) return value->get();
    refuse_value(key, node, "text");
  }

  [[nodiscard]] std::uint64_t count(const toml::key& key, const toml::node& node) const {
    const auto* value = node.as_integer();
    if (value == nullptr || value->get() < 0) refuse_value(key, node, "a whole number");
    return static_cast<std::uint64_t>(value->get());
  }

  [[nodiscard]] double number(const toml::key& key, const toml::node& node) const {
    const auto value = node.is_number() ? node.value<double>() : std::nullopt;
    if (!value || !std::isfinite(*value) || *value < 0)
      refuse_value(key, node, "a number that is not negative");
    return *value;
  }

  [[nodiscard]] std::chrono::year_month_day date(const toml::key& key,
                                                 const toml::node& node) const {
    const auto* value = node.as_date();
    if (value == nullptr) refuse_value(key, node, "a date without quotes");
    const toml::date& day = value->get();
    return std::chrono::year{day.year} / std::chrono::month{day.month} / std::chrono::day{day.day};
  }

  [[noreturn]] void refuse_value(const toml::key& key, const toml::node& node,
                                 std::string_view what) const {
    std::string_view example;
    for (const Key& known : kKeys)
      if (known.name == key.str()) example = known.example;
    refuse(node, fmt::format("{} takes {}", key.str(), what),
           fmt::format("give it as {} = {}", key.str(), example));
  }

  [[noreturn]] void refuse_key(const toml::key& key, const std::vector<std::string>& known,
                               const std::string& otherwise) const {
    const std::string meant = nearest(key.str(), known);
    throw Error(
        ErrorCode::usage,
        fmt::format("{}: there is no key '{}'", place(key.source().begin.line), escaped(key.str())),
        meant.empty() ? otherwise : fmt::format("did you mean {}?", meant));
  }

  [[noreturn]] void refuse(const toml::node& node, const std::string& message,
                           const std::string& hint) const {
    throw Error(ErrorCode::usage, fmt::format("{}: {}", place(node.source().begin.line), message),
                hint);
  }

  [[nodiscard]] std::string place(toml::source_index line) const {
    return fmt::format("{}:{}", escaped(path_), line);
  }

  std::string path_;
};

}  // namespace

std::vector<ToleranceRule> parse_tolerance(const std::string& text, const std::string& path) {
  const Reader reader(path);
  try {
    return reader.rules(toml::parse(text));
  } catch (const toml::parse_error& error) {
    reader.refuse_syntax(error);
  }
}

std::vector<ToleranceRule> read_tolerance_file(const std::string& path) {
  const auto refuse = [&path](const std::string& why) {
    throw Error(ErrorCode::usage,
                fmt::format("the tolerance file '{}' cannot be read: {}", escaped(path), why),
                "give a file of rules, as --tolerance tolerance.toml");
  };
  std::error_code error;
  if (const auto status = std::filesystem::status(path, error);
      std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    refuse("it is not a file");
  if (std::filesystem::file_size(path, error) > kLargestFile && !error)
    refuse("it is larger than 1 MB");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  if (in) text << in.rdbuf();
  if (!in) refuse(std::generic_category().message(errno));
  return parse_tolerance(text.str(), path);
}

}  // namespace ulpscope::cli
