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

std::uint64_t read_journal(const std::filesystem::path& path,
                           const std::function<void(const Record&)>& visit) {
  const auto file = File::open(path);
  const std::uint64_t size = file.size();
  std::uint64_t at = 0;
  std::vector<std::byte> payload;
  while (size - at >= sizeof(RecordHeader)) {
    RecordHeader header;
    file.read_at(at, std::as_writable_bytes(std::span(&header, 1)));
    if (header.magic != RecordHeader::kMagic || header.bytes > size - at - sizeof header) break;
    payload.resize(header.bytes);
    file.read_at(at + sizeof header, payload);
    if (digest_of(header, payload) != header.digest) break;
    visit({header.kind, header.lane, payload});
    at += sizeof header + header.bytes;
  }
  return size - at;
}

}  // namespace ulpscope::dump
