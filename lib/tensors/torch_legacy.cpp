#include "tensors/torch_legacy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "tensors/refuse.hpp"
#include "tensors/stored_tensors.hpp"
#include "tensors/torch_pickle.hpp"

// The form of torch/serialization.py: five pickles (a magic number, the version of the form, sizes
// of C's types, the object, the keys of its storages), then for each key the number of elements and
// the elements, in little-endian order whatever the machine's was.
namespace ulpscope::tensors {
namespace {

/// The magic number as pickled, without the opcodes in front of it.
constexpr std::string_view kMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
constexpr std::int64_t kVersion = 1001;
constexpr std::uint64_t kCount = 8;  ///< bytes of a storage's number of elements

/// How many bytes of a file are the magic number's pickle; 0 if it begins with something else.
[[nodiscard]] std::uint64_t magic_size(const OpenFile& file) {
  constexpr std::size_t kFrame = 9;  // an opcode and a size, from protocol 4 on
  const std::string start =
      file.text_at(0, std::min<std::uint64_t>(2 + kFrame + kMagic.size(), file.size()));
  if (start.size() < 2 || start[0] != '\x80' || start[1] < 2 || start[1] > 5) return 0;
  std::string_view rest = std::string_view(start).substr(2);
  if (rest.starts_with('\x95')) rest.remove_prefix(std::min(kFrame, rest.size()));
  return rest.starts_with(kMagic) ? start.size() - rest.size() + kMagic.size() : 0;
}

class LegacyFile {
 public:
  explicit LegacyFile(std::shared_ptr<const OpenFile> file)
      : file_(std::move(file)), at_(magic_size(*file_)) {}

  /// The next pickle.
  [[nodiscard]] PickledValues pickle() {
    const HeldBytes held = file_->map(at_, std::min(file_->size() - at_, kLargestPickle + 1));
    auto values = read_torch_pickle(
        {reinterpret_cast<const char*>(held.bytes.data()), held.bytes.size()}, file_->path());
    at_ += values.bytes();
    return values;
  }

  /// The next storage, whose elements have so many bytes.
  [[nodiscard]] std::shared_ptr<const Source> storage(const std::string& key, std::size_t element) {
    const auto refuse = [&] {
      damaged(file_->path(), fmt::format("the file does not hold all of its storage '{}'", key));
    };
    if (file_->size() - at_ < kCount) refuse();
    const std::string count = file_->text_at(at_, kCount);
    at_ += kCount;
    std::uint64_t bytes = 0;
    for (std::size_t k = kCount; k-- > 0;)
      bytes = (bytes << 8) | static_cast<unsigned char>(count[k]);
    if (__builtin_mul_overflow(bytes, element, &bytes) || bytes > file_->size() - at_) refuse();
    at_ += bytes;
    return part_of(file_, at_ - bytes, bytes);
  }

 private:
  std::shared_ptr<const OpenFile> file_;
  std::uint64_t at_;
};

/// The bytes of an element of each storage that a pickle names: those of the dtype by which it
/// names the storage first.
[[nodiscard]] std::map<std::string, std::size_t> element_sizes(const PickledValues& values) {
  std::map<std::string, std::size_t> sizes;
  for (const PickledValue& value : values.all())
    if (const auto storage = torch_storage(values, value))
      sizes.emplace(storage->key, element_size(storage->dtype));
  return sizes;
}

}  // namespace

bool looks_like_legacy_torch(const OpenFile& file) { return magic_size(file) > 0; }

std::unique_ptr<TensorFile> open_legacy_torch(std::shared_ptr<const OpenFile> file) {
  LegacyFile legacy(file);
  const auto version = legacy.pickle();
  if (const PickledValue& number = version.at(version.root());
      number.kind != PickledKind::integer || number.integer != kVersion)
    unsupported(file->path(), "it has another version of PyTorch's form before 1.6 than 1001");
  static_cast<void>(legacy.pickle());  // sizes of C's types
  const auto values = legacy.pickle();
  const auto sizes = element_sizes(values);
  const auto keys = legacy.pickle();
  std::map<std::string, std::shared_ptr<const Source>> storages;
  for (const ValueId id : keys.at(keys.root()).items) {
    const std::string& key = keys.at(id).text;
    const auto size = sizes.find(key);
    if (size == sizes.end())
      damaged(file->path(), fmt::format("no tensor is in its storage '{}'", key));
    if (!storages.emplace(key, legacy.storage(key, size->second)).second)
      damaged(file->path(), fmt::format("it has two storages of the key '{}'", key));
  }
  auto tensors = std::make_unique<StoredTensors>(file->path(), "pytorch");
  tensors->limit(file->size());
  const auto find = [&storages](const std::string& key) {
    const auto found = storages.find(key);
    return found == storages.end() ? nullptr : found->second;
  };
  add_pickled_tensors(values, "", {find, std::endian::little}, *tensors);
  return tensors;
}

}  // namespace ulpscope::tensors
