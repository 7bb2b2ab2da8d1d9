#include "tensors/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "tensors/refuse.hpp"
#include "tensors/stored_tensors.hpp"

namespace ulpscope::tensors {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kLongestJson = std::uint64_t{32} << 20;
constexpr int kDeepestJson = 4;

[[nodiscard]] std::uint64_t header_length(const OpenFile& file) {
  std::array<unsigned char, kLengthBytes> bytes{};
  file.read_at(0, std::as_writable_bytes(std::span(bytes)));
  std::uint64_t length = 0;
  for (std::size_t k = bytes.size(); k-- > 0;) length = (length << 8) | bytes[k];
  return length;
}

[[nodiscard]] std::optional<Dtype> dtype_named(const std::string& name) {
  static const std::map<std::string_view, Dtype> known{{"BOOL", Dtype::bool_},
                                                       {"U8", Dtype::uint8},
                                                       {"I8", Dtype::int8},
                                                       {"U16", Dtype::uint16},
                                                       {"I16", Dtype::int16},
                                                       {"U32", Dtype::uint32},
                                                       {"I32", Dtype::int32},
                                                       {"U64", Dtype::uint64},
                                                       {"I64", Dtype::int64},
                                                       {"F16", Dtype::float16},
                                                       {"BF16", Dtype::bfloat16},
                                                       {"F32", Dtype::float32},
                                                       {"F64", Dtype::float64},
                                                       {"C64", Dtype::complex64},
                                                       {"F8_E5M2", Dtype::float8_e5m2},
                                                       {"F8_E4M3", Dtype::float8_e4m3fn}};
  const auto found = known.find(name);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

class Header {
 public:
  explicit Header(std::shared_ptr<const OpenFile> file) : file_(std::move(file)) {
    const std::uint64_t length = header_length(*file_);
    if (length > kLongestJson) unsupported(file_->path(), "its header claims more than 32 MB");
    if (length > file_->size() - kLengthBytes) refuse("it ends in its header");
    data_ = kLengthBytes + length;
    parse(file_->text_at(kLengthBytes, length));
  }

  [[nodiscard]] std::unique_ptr<TensorFile> tensors() {
    auto tensors = std::make_unique<StoredTensors>(file_->path(), "safetensors");
    for (const auto& [name, entry] : json_.items())
      if (name != "__metadata__") add(*tensors, name, entry);
    check_ranges();
    return tensors;
  }

 private:
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool operator<(const Range& other) const {
      return std::pair(begin, end) < std::pair(other.begin, other.end);
    }
  };

  [[noreturn]] void refuse(const std::string& what) const { damaged(file_->path(), what); }

  void parse(const std::string& text) {
    std::unordered_set<std::string> names;
    const auto check = [&](int depth, Json::parse_event_t event, Json& value) {
      if (depth > kDeepestJson) refuse("its header is nested too deep");
      if (event == Json::parse_event_t::key && depth == 1 &&
          !names.insert(value.get<std::string>()).second)
        refuse(fmt::format("it has two tensors of the name '{}'", value.get<std::string>()));
      return true;
    };
    try {
      json_ = Json::parse(text, check);
    } catch (const Json::exception&) {
      refuse("its header is not JSON");
    }
    if (!json_.is_object()) refuse("its header is not a JSON object");
  }

  [[nodiscard]] std::vector<std::uint64_t> counts(const std::string& name, const Json& entry,
                                                  const char* key) const {
    constexpr std::uint64_t kLargest = std::uint64_t{1} << 62;
    std::vector<std::uint64_t> values;
    const auto list = entry.find(key);
    const auto fail = [&] {
      refuse(fmt::format("the {} of '{}' is not a list of whole numbers", key, name));
    };
    if (list == entry.end() || !list->is_array()) fail();
    for (const Json& value : *list) {
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kLargest) fail();
      values.push_back(value.get<std::uint64_t>());
    }
    return values;
  }

  void add(StoredTensors& tensors, const std::string& name, const Json& entry) {
    if (!entry.is_object()) refuse(fmt::format("'{}' is not described by an object", name));
    const auto dtype = entry.find("dtype");
    if (dtype == entry.end() || !dtype->is_string()) refuse(fmt::format("'{}' has no dtype", name));
    const std::vector<std::uint64_t> shape = counts(name, entry, "shape");
    const std::vector<std::uint64_t> range = counts(name, entry, "data_offsets");
    const std::uint64_t there = file_->size() - data_;
    if (range.size() != 2 || range[0] > range[1] || range[1] > there)
      refuse(fmt::format("the bytes of '{}' are outside of it", name));
    ranges_.push_back({range[0], range[1]});
    const auto known = dtype_named(dtype->get<std::string>());
    if (!known)
      return tensors.add_unreadable(
          name, fmt::format("has the dtype {}, which is not read", dtype->get<std::string>()));
    StoredTensor tensor{
        .name = name, .dtype = *known, .shape = {shape.begin(), shape.end()}, .unreadable = {}};
    if (byte_count(tensor.shape, element_size(*known)) != range[1] - range[0])
      refuse(fmt::format("'{}' does not have the bytes of its shape", name));
    Placement placement{.source = part_of(file_, data_ + range[0], range[1] - range[0]),
                        .strides = row_major(tensor.shape)};
    tensors.add(std::move(tensor), std::move(placement));
  }

  /// The format asks that the tensors fill the file.
  void check_ranges() {
    std::sort(ranges_.begin(), ranges_.end());
    std::uint64_t end = 0;
    for (const Range& range : ranges_) {
      if (range.begin == range.end) continue;
      if (range.begin < end) refuse("the bytes of two tensors overlap");
      if (range.begin > end) refuse("it has bytes that belong to no tensor");
      end = range.end;
    }
    if (end != file_->size() - data_) refuse("it has bytes that belong to no tensor");
  }

  std::shared_ptr<const OpenFile> file_;
  std::uint64_t data_ = 0;  ///< where the tensors' bytes begin
  Json json_;
  std::vector<Range> ranges_;
};

}  // namespace

bool looks_like_safetensors(const OpenFile& file) {
  if (file.size() < kLengthBytes + 2) return false;
  return header_length(file) >= 2 && file.text_at(kLengthBytes, 1) == "{";
}

std::unique_ptr<TensorFile> open_safetensors(std::shared_ptr<const OpenFile> file) {
  return Header(std::move(file)).tensors();
}

}  // namespace ulpscope::tensors
