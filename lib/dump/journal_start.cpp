#include "dump/journal_start.hpp"

#include "dump/bytes.hpp"
#include "dump/journal.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::dump {

std::vector<std::byte> encode(const JournalStart& start) {
  ByteWriter out;
  out.put(kJournalVersion);
  out.put(start.run);
  out.put(start.previous);
  out.put(start.rank);
  out.put(start.pid);
  out.put(start.segment);
  out.put_text(start.level);
  out.put_text(start.creator);
  out.put(static_cast<std::uint32_t>(start.command.size()));
  for (const std::string& word : start.command) out.put_text(word);
  out.put(start.first_step);
  out.put(start.last_step);
  put(out, start.origin);
  return {out.bytes().begin(), out.bytes().end()};
}

JournalStart decode_journal_start(std::span<const std::byte> payload) {
  ByteReader in(payload);
  if (in.get<std::uint32_t>() != kJournalVersion) {
    throw Error(ErrorCode::version, "The journal was written by a different version of ulpscope.",
                "Recover it with the ulpscope that recorded it.");
  }
  JournalStart start;
  start.run = in.get<RunId>();
  start.previous = in.get<Digest>();
  start.rank = in.get<std::uint32_t>();
  start.pid = in.get<std::uint32_t>();
  start.segment = in.get<std::uint32_t>();
  start.level = in.get_text();
  start.creator = in.get_text();
  for (auto words = in.get<std::uint32_t>(); words > 0 && in.ok(); --words) {
    start.command.emplace_back(in.get_text());
  }
  start.first_step = in.get_step();
  start.last_step = in.get<std::int64_t>();
  start.origin = get_origin(in);
  if (!in.ok() || start.last_step < start.first_step) {
    throw Error(ErrorCode::corrupt, "The journal does not say what it is of.");
  }
  return start;
}

std::optional<JournalStart> read_journal_start(const std::filesystem::path& journal) {
  try {
    if (const auto payload = read_first_record(journal)) return decode_journal_start(*payload);
  } catch (const Error&) {
    // Belongs to no run.
  }
  return std::nullopt;
}

}  // namespace ulpscope::dump
