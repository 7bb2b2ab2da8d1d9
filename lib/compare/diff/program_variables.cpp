#include "compare/diff/program_variables.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::string_view kVariables = "end.variables";
constexpr std::string_view kSameMemory = " = ";
constexpr std::string_view kMore = "...";

/// Calls `use` with each part of a text between separators.
template <class Use>
void split(std::string_view text, std::string_view separator, Use&& use) {
  for (;;) {
    const std::size_t end = text.find(separator);
    use(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + separator.size());
  }
}

/// Of the part of a variable the variable itself.
[[nodiscard]] std::string_view variable_of(std::string_view path) {
  return path.substr(0, path.find('['));
}

}  // namespace

ProgramVariables::ProgramVariables(const std::vector<EnvironmentEntry>& environment) {
  for (const EnvironmentEntry& entry : environment) {
    if (entry.key != kVariables) continue;
    known_ = true;
    names_.clear();
    split(entry.value, " ", [&](std::string_view name) { names_.emplace(name); });
  }
}

bool ProgramVariables::lack(std::string_view holders) const {
  if (!known_ || holders.empty() || holders.ends_with(kMore)) return false;
  bool lacks = true;
  split(holders, kSameMemory,
        [&](std::string_view path) { lacks = lacks && !names_.contains(variable_of(path)); });
  return lacks;
}

}  // namespace ulpscope::comparison
