#include "compare/diff/batches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "compare/model/words.hpp"

namespace ulpscope::comparison {
namespace {

/// Memory that nothing has filled is no data, nor is what backward and optimizers have left.
[[nodiscard]] bool is_of_batch(const Record& record) {
  const Finding& finding = record.finding;
  const Evidence& evidence = record.evidence;
  const bool reads_data = finding.phase == Phase::data || finding.phase == Phase::forward ||
                          finding.phase == Phase::eval;
  return finding.kind == FindingKind::data && finding.diverges && finding.step && reads_data &&
         (!evidence.uninitialised || evidence.for_data);
}

[[nodiscard]] std::string reader_words(const Finding& finding) {
  const std::string module = finding.module.value_or("");
  return module.empty() ? finding.op : fmt::format("{} of {}", finding.op, module);
}

void add_once(std::vector<std::string>& words, std::string more) {
  if (std::find(words.begin(), words.end(), more) == words.end()) words.push_back(std::move(more));
}

}  // namespace

void merge_by_batch(std::vector<Record>& records) {
  using Batch = std::tuple<std::uint32_t, std::string, std::int64_t>;  // rank, lane, step
  std::map<Batch, std::size_t> first;
  std::map<std::size_t, std::vector<std::string>> readers;
  std::vector<Record> kept;
  kept.reserve(records.size());
  for (Record& record : records) {
    if (is_of_batch(record)) {
      const Finding& finding = record.finding;
      const auto [at, is_new] =
          first.try_emplace({finding.rank, finding.lane, *finding.step}, kept.size());
      if (!is_new) {
        add_once(readers[at->second], reader_words(finding));
        continue;
      }
    }
    kept.push_back(std::move(record));
  }
  for (const auto& [index, others] : readers)
    kept[index].finding.notes.push_back(fmt::format("in this step {} {} different data, too",
                                                    listed(others, 3),
                                                    others.size() == 1 ? "reads" : "read"));
  records = std::move(kept);
}

}  // namespace ulpscope::comparison
