#include "dump/journal.hpp"

#include <cstring>

#include "dump/bytes.hpp"

namespace ulpscope::dump {
namespace {

Digest digest_of(RecordHeader header, std::span<const std::byte> payload) {
  header.digest = {};
  DigestStream stream;
  stream.update(bytes_of(header));
  stream.update(payload);
  return stream.finish();
}

/// The record at `at`; false if it is truncated or damaged.
bool read_record(const File& file, std::uint64_t at, std::uint64_t size, RecordHeader& header,
                 std::vector<std::byte>& payload) {
  if (size - at < sizeof header) return false;
  file.read_at(at, std::as_writable_bytes(std::span(&header, 1)));
  if (header.magic != RecordHeader::kMagic || header.bytes > size - at - sizeof header)
    return false;
  payload.resize(header.bytes);
  file.read_at(at + sizeof header, payload);
  return digest_of(header, payload) == header.digest;
}

}  // namespace

JournalWriter::JournalWriter(const std::filesystem::path& path) : file_(File::create(path)) {}

void JournalWriter::append(RecordKind kind, std::uint32_t lane,
                           std::span<const std::byte> payload) {
  std::vector<std::byte> record(sizeof(RecordHeader) + payload.size());
  if (!payload.empty()) {
    std::memcpy(record.data() + sizeof(RecordHeader), payload.data(), payload.size());
  }
  append_in_place(kind, lane, record);
}

void JournalWriter::append_in_place(RecordKind kind, std::uint32_t lane,
                                    std::span<std::byte> record) {
  RecordHeader header;
  header.kind = kind;
  header.lane = lane;
  header.bytes = record.size() - sizeof header;
  header.digest = digest_of(header, record.subspan(sizeof header));
  std::memcpy(record.data(), &header, sizeof header);
  file_.append(record);
  bytes_ += record.size();
}

std::optional<std::vector<std::byte>> read_first_record(const std::filesystem::path& path) {
  const auto file = File::open(path);
  RecordHeader header;
  std::vector<std::byte> payload;
  if (!read_record(file, 0, file.size(), header, payload) || header.kind != RecordKind::start)
    return std::nullopt;
  return payload;
}

std::uint64_t read_journal(const std::filesystem::path& path,
                           const std::function<void(const Record&)>& visit) {
  const auto file = File::open(path);
  const std::uint64_t size = file.size();
  std::uint64_t at = 0;
  RecordHeader header;
  std::vector<std::byte> payload;
  while (read_record(file, at, size, header, payload)) {
    visit({header.kind, header.lane, payload});
    at += sizeof header + header.bytes;
  }
  return size - at;
}

}  // namespace ulpscope::dump
