#include "dump/empty_dump.hpp"

#include <algorithm>

#include "dump/bytes.hpp"
#include "dump/journal.hpp"
#include "ring/message.hpp"

namespace ulpscope::dump {
namespace {

bool has_event(std::span<const std::byte> messages) {
  while (!messages.empty()) {
    ByteReader in(messages);
    const auto header = in.get<ring::MessageHeader>();
    if (!in.ok() || header.size < sizeof header || header.size > messages.size()) return true;
    if (header.kind == ring::MessageKind::event) return true;
    messages = messages.subspan(header.size);
  }
  return false;
}

bool may_hold_events(const std::filesystem::path& journal) {
  bool found = false;
  const std::uint64_t unread = read_journal(journal, [&found](const Record& record) {
    found = found || (record.kind == RecordKind::messages && has_event(record.payload));
  });
  return found || unread != 0;
}

}  // namespace

std::optional<std::string> why_empty(std::span<const RankMarks> ranks, const Status& status) {
  const bool something = std::any_of(ranks.begin(), ranks.end(), [](const RankMarks& rank) {
    const auto live = rank.files.live_journal();
    return !rank.files.segments.empty() ||
           (live && may_hold_events(journal_path(rank.files.directory, *live)));
  });
  if (something) return std::nullopt;
  return status.reason.empty() ? "the recording was not ended in order" : status.reason;
}

}  // namespace ulpscope::dump
