#include "dump/file_digest.hpp"

#include <algorithm>
#include <vector>

namespace ulpscope::dump {
namespace {

constexpr std::uint64_t kPieceBytes = 1 << 20;

}  // namespace

void digest_of_file(const File& file, std::uint64_t offset, std::uint64_t bytes,
                    DigestStream& stream) {
  std::vector<std::byte> buffer;
  while (bytes > 0) {
    const File::Stretch stretch = file.stretch_at(offset, bytes);
    if (stretch.is_hole) stream.update_zeros(stretch.bytes);
    for (std::uint64_t done = 0; !stretch.is_hole && done < stretch.bytes; done += buffer.size()) {
      buffer.resize(std::min(stretch.bytes - done, kPieceBytes));
      file.read_at(offset + done, buffer);
      stream.update(buffer);
    }
    offset += stretch.bytes;
    bytes -= stretch.bytes;
  }
}

}  // namespace ulpscope::dump
