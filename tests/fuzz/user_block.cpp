#include "dump/segment_reader.hpp"
#include "tests/fuzz/forged_segment.hpp"
#include "tests/fuzz/fuzzer.hpp"
#include "ulpscope/error.hpp"

namespace {

using namespace ulpscope;

void open_segment(const std::filesystem::path& path) {
  try {
    static_cast<void>(dump::Segment::open(path));
  } catch (const Error&) {
    // Refused.
  }
}

/// Any directory and extents under a good digest.
void forge(const std::filesystem::path& path, std::span<const std::byte> input) {
  dump::ByteReader in(input);
  auto directory = in.get<dump::Directory>();
  std::vector<dump::Extent> extents(in.get<std::uint8_t>());
  for (auto& extent : extents) extent = in.get<dump::Extent>();
  const bool own_root_digest = in.get<std::uint8_t>() % 2 == 0;
  std::vector<std::byte> file(dump::kUserBlockBytes);
  const auto rest = in.get_bytes(in.left());
  file.insert(file.end(), rest.begin(), rest.end());
  if (own_root_digest) directory.root_digest = dump::root_digest({});
  dump::File::create(path).append(file);
  try {
    dump::seal(path, directory, extents);
  } catch (const Error&) {
    return;  // extents outside of the file: no digest can be right
  }
  open_segment(path);
}

}  // namespace

// The first 4096 bytes of a segment: unchanged, or with a matching digest.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const test::ForgedDump dump;
  if (size == 0) return 0;
  const auto input = test::fuzz_input(data + 1, size - 1);
  if (data[0] % 2 == 0) {
    forge(dump.segment(), input);
  } else {
    dump::File::create(dump.segment()).append(input);
    open_segment(dump.segment());
  }
  return 0;
}
