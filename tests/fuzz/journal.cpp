#include "dump/journal.hpp"

#include <cstring>

#include "dump/recovery.hpp"
#include "tests/fuzz/forged_segment.hpp"
#include "tests/fuzz/fuzzer.hpp"
#include "tests/fuzz/read_everything.hpp"
#include "ulpscope/dump_reader.hpp"
#include "ulpscope/error.hpp"

namespace {

using namespace ulpscope;

/// Records with any kind, lane and payload, each with its digest; the rest at the end is a
/// truncated record.
void write_journal(const std::filesystem::path& path, std::span<const std::byte> input) {
  dump::JournalWriter journal(path);
  dump::ByteReader in(input);
  while (in.left() >= 8) {
    const auto kind = static_cast<dump::RecordKind>(in.get<std::uint8_t>());
    const auto lane = in.get<std::uint8_t>();
    static_cast<void>(in.get<std::uint16_t>());
    const std::size_t bytes = in.get<std::uint32_t>();
    journal.append(kind, lane, in.get_bytes(std::min(bytes, in.left())));
  }
}

}  // namespace

// What `ulpscope recover` reads after a recording was killed.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const test::ForgedDump dump;
  write_journal(dump::journal_path(dump::rank_path(dump.path(), 0), 0),
                test::fuzz_input(data, size));
  try {
    static_cast<void>(dump::recover(dump.path()));
    test::read_everything(*open_dump(dump.path()));
  } catch (const Error&) {
    // Not a journal, or nothing in it.
  }
  return 0;
}
