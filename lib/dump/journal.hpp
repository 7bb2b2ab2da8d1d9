#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "dump/files.hpp"
#include "ulpscope/digest.hpp"

/// The append-only file that holds what no published segment holds yet. Each segment in progress
/// has its own: journal-000000 for segment 0. It starts with what the writer must know to continue
/// from there, so it can be replayed without the segments before it.
namespace ulpscope::dump {

inline constexpr std::uint32_t kJournalVersion = 6;

enum class RecordKind : std::uint32_t {
  start = 1,      ///< what is recorded (journal_start.hpp)
  open_lane = 2,  ///< a lane and its thread's name
  messages = 3,   ///< ring messages as they came, without contents
  close_lane = 4,
  state = 5,    ///< the state of the timeline and the lanes
  ordered = 6,  ///< ordered events whose step was not yet known
  placed = 7,   ///< events with step and phase whose block was not yet complete
};

struct RecordHeader {
  std::uint32_t magic = kMagic;
  RecordKind kind = RecordKind::start;
  std::uint32_t lane = 0;
  std::uint32_t reserved = 0;
  std::uint64_t bytes = 0;  ///< of the payload
  Digest digest;            ///< of this header with zeros here, then the payload

  static constexpr std::uint32_t kMagic = 0x4a504c55;  // "ULPJ"
};
static_assert(sizeof(RecordHeader) == 40);

/// Appends records; each has been handed to the kernel when append() returns.
class JournalWriter {
 public:
  explicit JournalWriter(const std::filesystem::path& path);

  void append(RecordKind kind, std::uint32_t lane, std::span<const std::byte> payload);
  /// Without a copy: `record` has space for the header before the payload.
  void append_in_place(RecordKind kind, std::uint32_t lane, std::span<std::byte> record);
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  File file_;
  std::uint64_t bytes_ = 0;
};

struct Record {
  RecordKind kind;
  std::uint32_t lane;
  std::span<const std::byte> payload;
};

/// The first record, which says whose the journal is; empty if it is not whole.
[[nodiscard]] std::optional<std::vector<std::byte>> read_first_record(
    const std::filesystem::path& path);

/// Delivers the records in order, up to the first that is truncated or damaged.
/// @returns the bytes left unread; 0 if the journal is whole.
std::uint64_t read_journal(const std::filesystem::path& path,
                           const std::function<void(const Record&)>& visit);

}  // namespace ulpscope::dump
