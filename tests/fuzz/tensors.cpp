#include <zip.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/fuzzer.hpp"
#include "tests/support/dump_builder.hpp"
#include "ulpscope/compare_tensors.hpp"
#include "ulpscope/error.hpp"

namespace {

using namespace ulpscope;

namespace fs = std::filesystem;

void write_file(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// An archive with sound checksums, so that what is in it is reached.
void write_archive(const fs::path& path,
                   const std::vector<std::pair<const char*, std::string_view>>& members) {
  fs::remove(path);
  zip_t* const archive = zip_open(path.c_str(), ZIP_CREATE, nullptr);
  if (archive == nullptr) std::abort();
  for (const auto& [name, bytes] : members) {
    zip_source_t* const source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
    if (zip_file_add(archive, name, source, 0) < 0) std::abort();
  }
  if (zip_close(archive) != 0) std::abort();
}

/// A `.safetensors` file whose header has the length that it claims.
[[nodiscard]] std::string with_header_length(std::string_view text) {
  const std::size_t end = std::min(text.find('\0'), text.size());
  std::string bytes;
  for (std::size_t k = 0; k < 8; ++k) bytes += static_cast<char>((end >> (8 * k)) & 0xff);
  return bytes.append(text.substr(0, end)).append(text.substr(std::min(end + 1, text.size())));
}

[[nodiscard]] std::string behind_legacy_start(std::string_view bytes) {
  std::string file = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
  file += "\x80\x02M\xe9\x03.";
  file += "\x80\x02}.";
  return file.append(bytes);
}

/// HDF5 is not ours to fuzz, and runs in a process of its own (tests/tensors/hostile.py).
[[nodiscard]] bool may_be_hdf5(std::string_view bytes) {
  return bytes.find("\x89HDF") != bytes.npos;
}

/// Some of a tensor's bytes, with its dimensions as they are and turned round.
void read_some(const TensorFile& file, std::size_t index) {
  constexpr std::uint64_t kMost = 1 << 16;
  const StoredTensor& tensor = file.tensors()[index];
  std::vector<std::size_t> axes(tensor.shape.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  for (int turn = 0; turn < 2; ++turn) {
    const auto reader = file.open(index, axes);
    const std::size_t element = element_size(tensor.dtype);
    std::vector<std::byte> piece(std::min(reader->size(), kMost / element * element));
    reader->read(piece);
    std::reverse(axes.begin(), axes.end());
  }
}

void read_everything(const fs::path& path) {
  constexpr std::uint64_t kMostElements = 1 << 20;
  const auto file = open_tensor_file(path);
  std::uint64_t elements = 0;
  for (std::size_t k = 0; k < file->tensors().size(); ++k) {
    const StoredTensor& tensor = file->tensors()[k];
    if (!tensor.unreadable.empty()) continue;
    std::uint64_t size = 1;
    for (const std::int64_t one : tensor.shape)
      size = std::min(size * static_cast<std::uint64_t>(std::max<std::int64_t>(one, 1)),
                      kMostElements);
    elements += size;
    if (k < 64) read_some(*file, k);
  }
  if (elements >= kMostElements) return;
  CompareOptions options;
  options.ignore = {"ignored*"};
  if (compare_tensors(*file, *file, options).verdict == Verdict::diverged) std::abort();
}

}  // namespace

// By the first byte: a file as it is, an ONNX model, the pickle of a PyTorch archive, an array in
// an archive, a safetensors file with a matching length, what an old PyTorch file has behind its
// magic number, the version of its form and its sizes.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const test::TempDir dir;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  if (may_be_hdf5(bytes)) return 0;
  fs::path path = dir.path() / "file";
  switch (data[0] % 6) {
    case 0:
      write_file(path, bytes);
      break;
    case 1:
      path += ".onnx";
      write_file(path, bytes);
      break;
    case 2: {
      constexpr std::string_view kStorage = "0123456789abcdef0123456789abcdef";
      write_archive(path, {{"a/data.pkl", bytes},
                           {"a/byteorder", "little"},
                           {"a/data/0", kStorage},
                           {"a/data/1", kStorage}});
      break;
    }
    case 3:
      write_archive(path, {{"x.npy", bytes}});
      break;
    case 4:
      write_file(path, with_header_length(bytes));
      break;
    default:
      write_file(path, behind_legacy_start(bytes));
  }
  try {
    read_everything(path);
  } catch (const Error&) {
    // Refused, or damaged where it was read.
  }
  return 0;
}
