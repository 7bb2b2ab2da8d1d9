#include "compare/diff/program_lines.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "compare/model/hash.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool is_known_by_line(const Finding& finding) {
  return !finding.where.empty() &&
         (finding.kind == FindingKind::sequence || finding.kind == FindingKind::arguments ||
          finding.kind == FindingKind::data || finding.kind == FindingKind::metadata);
}

/// "result of aten::add, event 12" is another tensor each time, and a place that a loop goes to
/// another number.
[[nodiscard]] std::string value_of(const Finding& finding, const std::optional<std::string>& text) {
  if (!text || text->find(" event ") != std::string::npos) return {};
  return facts::Op(finding.op).has(facts::fact::picks) ? std::string() : *text;
}

/// In whichever rank.
[[nodiscard]] KeyHash identity_in_process(const Finding& finding) {
  KeyHash hash;
  hash.add(static_cast<std::uint64_t>(finding.kind)).add(std::uint64_t{finding.diverges});
  hash.add(finding.lane).add(finding.op).add(finding.overload).add(finding.where);
  if (finding.kind != FindingKind::sequence)
    hash.add(finding.root).add(finding.module.value_or(""));
  for (const ArgumentReport& argument : finding.arguments)
    hash.add(argument.name)
        .add(value_of(finding, argument.reference))
        .add(value_of(finding, argument.candidate));
  return hash;
}

[[nodiscard]] std::uint64_t identity(const Record& record) {
  KeyHash hash = identity_in_process(record.finding);
  hash.add(std::uint64_t{record.finding.rank});
  for (const Side side : kSides) {
    hash.add(std::uint64_t{on(record.evidence.alone, side).size()});
    for (const std::string& op : on(record.evidence.alone, side)) hash.add(op);
  }
  return hash.value();
}

void add(Record& to, const Record& other) {
  to.evidence.picks.add(other.evidence.picks);
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;
  const std::int64_t step = step_of(other.finding);
  if (step == step_of(to.finding))
    to.more_in_step += other.more_in_step + 1;
  else
    steps.emplace_back(step, step);
  steps.insert(steps.end(), other.repeats.begin(), other.repeats.end());
  steps.insert(steps.end(), to.repeats.begin(), to.repeats.end());
  std::sort(steps.begin(), steps.end());
  to.repeats.clear();
  for (const auto& [first, last] : steps)
    if (to.repeats.empty() || first > to.repeats.back().second + 1)
      to.repeats.emplace_back(first, last);
    else
      to.repeats.back().second = std::max(to.repeats.back().second, last);
}

}  // namespace

void merge_by_line(std::vector<Record>& records) {
  std::unordered_map<std::uint64_t, std::size_t> known;
  std::vector<Record> kept;
  kept.reserve(records.size());
  for (Record& record : records) {
    if (is_known_by_line(record.finding)) {
      const auto [at, is_new] = known.try_emplace(identity(record), kept.size());
      if (!is_new) {
        add(kept[at->second], record);
        continue;
      }
    }
    kept.push_back(std::move(record));
  }
  records = std::move(kept);
}

std::size_t merge_processes(std::vector<Record>& records,
                            const std::function<std::uint64_t(std::uint32_t)>& group_of) {
  std::unordered_map<std::uint64_t, std::size_t> known;
  std::vector<Record> kept;
  for (Record& record : records) {
    const std::uint64_t group = group_of(record.ranks.reference);
    if (group != 0 && is_known_by_line(record.finding)) {
      const std::uint64_t key = identity_in_process(record.finding).add(group).value();
      const auto [at, is_new] = known.try_emplace(key, kept.size());
      if (!is_new && kept[at->second].finding.rank != record.finding.rank) {
        kept[at->second].more_ranks.insert(record.finding.rank);
        continue;
      }
    }
    kept.push_back(std::move(record));
  }
  const std::size_t removed = records.size() - kept.size();
  records = std::move(kept);
  return removed;
}

}  // namespace ulpscope::comparison
