#include "compare/model/renamed_run.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "compare/model/changed_block.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::comparison {
namespace {

/// Fits `pattern` to the beginning of `text` and collects what each '*' matches. Returns the rest
/// of `text`; the pattern must end at a dot or with the text.
[[nodiscard]] std::optional<std::string_view> fit(std::string_view text, std::string_view pattern,
                                                  std::vector<std::string_view>& captures) {
  const std::size_t star = std::min(pattern.find('*'), pattern.size());
  if (!text.starts_with(pattern.substr(0, star))) return std::nullopt;
  text.remove_prefix(star);
  pattern.remove_prefix(star);
  if (pattern.empty()) {
    if (text.empty() || text.front() == '.') return text;
    return std::nullopt;
  }
  const std::size_t longest = std::min(text.find('.'), text.size());
  for (std::size_t length = longest; length > 0; --length) {
    captures.push_back(text.substr(0, length));
    if (const auto rest = fit(text.substr(length), pattern.substr(1), captures)) return rest;
    captures.pop_back();
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> rename(std::string_view path, std::string_view from,
                                  std::string_view to) {
  std::vector<std::string_view> captures;
  const auto rest = fit(path, from, captures);
  if (!rest) return std::nullopt;
  std::string result;
  auto capture = captures.begin();
  for (const char c : to) {
    if (c == '*' && capture != captures.end())
      result += *capture++;
    else
      result += c;
  }
  return result.append(*rest);
}

RenamedRun::RenamedRun(const Run& run, const std::vector<ModuleRename>& renames)
    : ForwardedRun(run), renames_(renames), used_(renames.size(), false) {
  for (const ModuleRename& one : renames_)
    if (std::count(one.reference.begin(), one.reference.end(), '*') !=
        std::count(one.candidate.begin(), one.candidate.end(), '*'))
      throw Error(ErrorCode::usage,
                  "'" + one.reference + "' and '" + one.candidate + "' do not have as many '*'.");
}

std::vector<const ModuleRename*> RenamedRun::unused() const {
  std::vector<const ModuleRename*> result;
  for (std::size_t k = 0; k < renames_.size(); ++k)
    if (!used_[k]) result.push_back(&renames_[k]);
  return result;
}

void RenamedRun::add_used(const std::vector<bool>& used) {
  for (std::size_t k = 0; k < used_.size() && k < used.size(); ++k) used_[k] = used_[k] || used[k];
}

std::string_view RenamedRun::renamed(std::string_view name) const {
  const auto [at, added] = names_.try_emplace(std::string(name), name);
  if (!added) return at->second;
  for (std::size_t k = 0; k < renames_.size(); ++k) {
    auto other = rename(name, renames_[k].candidate, renames_[k].reference);
    if (!other) continue;
    used_[k] = true;
    at->second = std::move(*other);
    break;
  }
  return at->second;
}

Block RenamedRun::block(std::uint32_t rank, std::uint32_t lane, std::size_t index) const {
  auto changed = std::make_shared<ChangedBlock>(run().block(rank, lane, index));
  Block block = changed->whole();
  for (Event& event : block.events) {
    if (event.has_module) event.module = renamed(event.module);
    const bool named = std::any_of(event.slots.begin(), event.slots.end(),
                                   [](const Slot& slot) { return !slot.name.empty(); });
    if (!named) continue;
    for (Slot& slot : changed->own_slots(event))
      if (!slot.name.empty()) slot.name = renamed(slot.name);
  }
  block.storage = std::move(changed);
  return block;
}

}  // namespace ulpscope::comparison
