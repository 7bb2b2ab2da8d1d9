#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "dump/journal.hpp"
#include "dump/segment_reader.hpp"
#include "tensors/hdf5_messages.hpp"
#include "tests/fuzz/forged_segment.hpp"
#include "tests/fuzz/small_run.hpp"

// Makes the fuzzers' seeds: make_seeds data/fuzz. What they found is kept there too.

namespace {

using namespace ulpscope;

using Bytes = std::vector<std::byte>;

Bytes operator+(Bytes a, std::span<const std::byte> b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Bytes byte(std::uint8_t value) { return {std::byte{value}}; }

Bytes text(std::uint8_t kind, std::string_view of) {
  return byte(kind) + std::as_bytes(std::span(of));
}

Bytes read_file(const std::filesystem::path& path) {
  const auto file = dump::File::open(path);
  Bytes bytes(file.size());
  file.read_at(0, bytes);
  return bytes;
}

class Seeds {
 public:
  explicit Seeds(std::filesystem::path root) : root_(std::move(root)) {}

  void write(const std::string& fuzzer, const std::string& name, const Bytes& bytes) const {
    std::filesystem::create_directories(root_ / fuzzer);
    dump::File::create(root_ / fuzzer / name).append(bytes);
  }

 private:
  std::filesystem::path root_;
};

/// The parts of a real segment, its contents moved to where a forged one has them.
test::SegmentParts parts_of_small_run(bool differs) {
  const test::TempDir dir;
  test::write_small_run(dir.path(), differs);
  const auto segment = dump::Segment::open(dump::segment_path(dump::rank_path(dir.path(), 0), 0));
  test::SegmentParts parts{{}, segment->tables(), dump::encode(segment->attributes())};
  for (std::size_t i = 0; i < parts.tables.contents.size(); ++i) {
    dump::ContentRow& row = parts.tables.contents[i];
    row.offset = dump::kUserBlockBytes + parts.contents.size();
    parts.contents = std::move(parts.contents) + segment->content_of(segment->tables().contents[i]);
  }
  return parts;
}

Bytes user_block_of(const test::SegmentParts& parts) {
  const test::ForgedDump dump;
  test::write_segment(dump.segment(), parts);
  return read_file(dump.segment());
}

/// As tests/fuzz/user_block.cpp reads it: a directory, extents, the file after the block.
Bytes directory_of_nothing() {
  dump::ByteWriter out;
  dump::Directory directory;
  const Bytes attributes = dump::encode({});
  directory.tables.back() = {dump::kUserBlockBytes, attributes.size()};
  out.put(directory);
  out.put(std::uint8_t{1});
  out.put(dump::Extent{dump::kUserBlockBytes, 8});
  out.put(std::uint8_t{0});
  out.put_bytes(attributes);
  return {out.bytes().begin(), out.bytes().end()};
}

/// As tests/fuzz/journal.cpp reads it: kind, lane, length and payload of each record.
Bytes journal_of(bool with_checkpoint) {
  const test::TempDir dir;
  test::DumpBuilder dump(dir.path(), {.run = {1, 2}, .level = "full", .segment_steps = 1});
  auto& lane = dump.lane();
  for (int i = 0; i < (with_checkpoint ? 3 : 1); ++i) {
    test::send_small_step(dump, lane, false, static_cast<unsigned>(i));
    lane.send();
  }
  const auto files = dump::list_ranks(dir.path()).at(0);
  dump::ByteWriter out;
  dump::read_journal(dump::journal_path(files.directory, files.journals.back()),
                     [&out](const dump::Record& record) {
                       out.put(static_cast<std::uint8_t>(record.kind));
                       out.put(static_cast<std::uint8_t>(record.lane));
                       out.put(std::uint16_t{0});
                       out.put(static_cast<std::uint32_t>(record.payload.size()));
                       out.put_bytes(record.payload);
                     });
  return {out.bytes().begin(), out.bytes().end()};
}

/// As tests/fuzz/hdf5_child.cpp reads it: what the process says that lists a file, and two answers.
Bytes hdf5_messages() {
  tensors::Hdf5Entry chunked;
  chunked.name = chunked.part.dataset = "layer/kernel:0";
  chunked.dtype = Dtype::float32;
  chunked.shape = {2, 3};
  chunked.chunk = {1, 3};
  tensors::Hdf5Entry contiguous = chunked;
  contiguous.name = contiguous.part.dataset = "x";
  contiguous.chunk.clear();
  contiguous.contiguous = true;
  contiguous.offset = 64;
  contiguous.order = std::endian::big;
  tensors::Hdf5Entry words = contiguous;
  words.name = words.part.dataset = "words";
  words.contiguous = false;
  words.is_text = true;
  words.dtype = Dtype::uint8;
  words.text = "severalwords  ";
  words.shape = {2, 7};
  tensors::Hdf5Entry field = chunked;
  field.name = "t/f";
  field.part = {"t", {"f"}};
  tensors::Hdf5Entry link;
  link.name = "elsewhere";
  link.unreadable = "is a link to another file, which is not followed";
  std::string stream;
  const auto say = [&stream](const std::string& message) {
    stream += tensors::encode_length(message.size()) + message;
  };
  for (const tensors::Hdf5Entry& entry : {chunked, contiguous, words, field, link})
    say(tensors::encode(entry));
  say(tensors::encode(tensors::AnswerKind::end));
  for (int k = 0; k < 3; ++k) say(tensors::encode(tensors::AnswerKind::done));
  say(tensors::encode_failure(tensors::AnswerKind::refused, "it is too large"));
  return text(0, stream);
}

void make_seeds(const Seeds& seeds) {
  const auto parts = parts_of_small_run(false);
  const auto other = parts_of_small_run(true);
  seeds.write("segment", "small_run", test::flattened(parts));
  seeds.write("user_block", "small_run", byte(1) + user_block_of(parts));
  seeds.write("user_block", "directory", byte(0) + directory_of_nothing());
  seeds.write("journal", "first", journal_of(false));
  seeds.write("journal", "with_checkpoint", journal_of(true));
  seeds.write("ring", "small_run", byte(0) + test::small_run_messages());
  const Bytes twice = test::small_run_messages();
  seeds.write("ring", "two_threads", byte(128) + Bytes(twice) + twice);
  for (const int options : {0, 1, 2, 4}) {
    seeds.write("compare", "options_" + std::to_string(options),
                byte(static_cast<std::uint8_t>(options)) + test::flattened(other));
  }
  seeds.write("hdf5_child", "list_and_answers", hdf5_messages());
  // Three answers; by fields, a dataset in chunks and one whose bytes are in the file.
  seeds.write("hdf5_child", "fields",
              text(1, std::string("\x03"
                                  "\x01\x01x\x01t\x01"
                                  "f\x06\x02\x02\x03\x02\x01\x03\x00\x00"
                                  "\x08\x01y\x06\x01\x04\x00\x00\x40",
                                  26)));
  seeds.write("text_files", "tolerance",
              text(0,
                   "# convolutions\n[[rule]]\nop = \"aten::convolution*\"\nmax_ulp = 16\n"
                   "rtol = 1e-5\nreason = \"why\"\nexpires = 2027-01-31\n\n[[rule]]\n"
                   "module = 'layer2.*'\natol = 1e-8\n"));
  seeds.write("text_files", "map",
              text(1, "# names\nencoder.*.attn -> blocks.*.attention\n\nfc -> head\n"));
  const test::TempDir dir;
  test::write_small_run(dir.path());
  auto status = dump::read_status(dir.path()).value();
  for (auto& last : status.last_segments) last.seal = {3, 4};  // which knows the time of day
  dump::write_status(dir.path(), status);
  seeds.write("text_files", "status", byte(2) + read_file(dump::status_path(dir.path())));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  make_seeds(Seeds(argv[1]));
}
