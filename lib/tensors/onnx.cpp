#include "tensors/onnx.hpp"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <array>
#include <charconv>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "onnx.pb.h"
#include "tensors/memory_source.hpp"
#include "tensors/refuse.hpp"
#include "tensors/stored_tensors.hpp"

namespace ulpscope::tensors {
namespace {

namespace fs = std::filesystem;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr int kGraphOfModel = 7;
constexpr int kInitializerOfGraph = 5;
constexpr int kSparseInitializerOfGraph = 15;
constexpr int kRawDataOfTensor = 9;

/// Bytes of a file.
struct Range {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// By TensorProto.DataType.
[[nodiscard]] std::optional<Dtype> dtype_numbered(int number) {
  static const std::map<int, Dtype> known{{1, Dtype::float32},
                                          {2, Dtype::uint8},
                                          {3, Dtype::int8},
                                          {4, Dtype::uint16},
                                          {5, Dtype::int16},
                                          {6, Dtype::int32},
                                          {7, Dtype::int64},
                                          {9, Dtype::bool_},
                                          {10, Dtype::float16},
                                          {11, Dtype::float64},
                                          {12, Dtype::uint32},
                                          {13, Dtype::uint64},
                                          {14, Dtype::complex64},
                                          {15, Dtype::complex128},
                                          {16, Dtype::bfloat16},
                                          {17, Dtype::float8_e4m3fn},
                                          {18, Dtype::float8_e4m3fnuz},
                                          {19, Dtype::float8_e5m2},
                                          {20, Dtype::float8_e5m2fnuz}};
  const auto found = known.find(number);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

/// The low bytes of every number.
template <class Numbers>
[[nodiscard]] std::string packed(const Numbers& numbers, std::size_t size) {
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(numbers.size()) * size);
  for (const auto number : numbers) {
    std::array<char, sizeof(number)> all{};
    std::memcpy(all.data(), &number, sizeof(number));
    bytes.append(all.data(), std::min(size, all.size()));
  }
  return bytes;
}

/// The numbers of a tensor that are not in raw_data.
[[nodiscard]] std::string typed_data(const onnx::TensorProto& tensor, Dtype dtype) {
  switch (dtype) {
    case Dtype::float32:
    case Dtype::complex64:
      return packed(tensor.float_data(), sizeof(float));
    case Dtype::float64:
    case Dtype::complex128:
      return packed(tensor.double_data(), sizeof(double));
    case Dtype::int64:
      return packed(tensor.int64_data(), sizeof(std::int64_t));
    case Dtype::uint32:
    case Dtype::uint64:
      return packed(tensor.uint64_data(), element_size(dtype));
    default:
      return packed(tensor.int32_data(), element_size(dtype));
  }
}

class Model {
 public:
  explicit Model(std::shared_ptr<const OpenFile> file) : file_(std::move(file)) {
    if (file_->size() > std::numeric_limits<int>::max())
      unsupported(file_->path(), "it has more than the 2 GB that protobuf allows");
    held_ = file_->map(0, file_->size());
  }

  [[nodiscard]] std::unique_ptr<TensorFile> tensors() {
    auto tensors = std::make_unique<StoredTensors>(file_->path(), "onnx");
    bool has_graph = false;
    for_each_field({0, file_->size()}, [&](int field, Range graph) {
      if (field != kGraphOfModel) return;
      if (std::exchange(has_graph, true)) damaged(file_->path(), "it has two graphs");
      for_each_field(graph, [&](int inner, Range tensor) {
        if (inner == kInitializerOfGraph) add(*tensors, tensor);
        if (inner == kSparseInitializerOfGraph)
          tensors->add_unreadable(fmt::format("sparse initializer at byte {}", tensor.offset),
                                  "is sparse");
      });
    });
    if (!has_graph) damaged(file_->path(), "it has no graph");
    return tensors;
  }

 private:
  /// Calls `use` with the number of each field of a message that holds bytes or a message, and
  /// where these are in the file.
  void for_each_field(Range message, const std::function<void(int, Range)>& use) const {
    const auto* const begin =
        reinterpret_cast<const std::uint8_t*>(held_.bytes.data()) + message.offset;
    CodedInputStream stream(begin, static_cast<int>(message.bytes));
    while (const std::uint32_t tag = stream.ReadTag()) {
      if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
        if (!WireFormatLite::SkipField(&stream, tag)) refuse();
        continue;
      }
      std::uint32_t bytes = 0;
      if (!stream.ReadVarint32(&bytes)) refuse();
      const auto at = static_cast<std::uint64_t>(stream.CurrentPosition());
      if (bytes > message.bytes - at) refuse();
      use(WireFormatLite::GetTagFieldNumber(tag), {message.offset + at, bytes});
      if (!stream.Skip(static_cast<int>(bytes))) refuse();
    }
    if (!stream.ConsumedEntireMessage()) refuse();
  }
  [[noreturn]] void refuse() const { damaged(file_->path(), "it is no ONNX model"); }

  void add(StoredTensors& tensors, Range range) const {
    onnx::TensorProto proto;
    if (!proto.ParseFromArray(held_.bytes.data() + range.offset, static_cast<int>(range.bytes)))
      refuse();
    const std::string& name = proto.name();
    const auto dtype = dtype_numbered(proto.data_type());
    if (!dtype)
      return tensors.add_unreadable(
          name, fmt::format("has the ONNX type {}, which is not read", proto.data_type()));
    StoredTensor tensor{.name = name,
                        .dtype = *dtype,
                        .shape = {proto.dims().begin(), proto.dims().end()},
                        .plain = false,
                        .unreadable = {}};
    const auto bytes = byte_count(tensor.shape, element_size(*dtype));
    if (!bytes)
      damaged(file_->path(), fmt::format("an impossible shape is claimed for '{}'", name));
    Placement placement{.source = source(proto, *dtype, range),
                        .offset = 0,
                        .strides = row_major(tensor.shape),
                        .order = std::endian::little};
    if (placement.source->size() != *bytes)
      damaged(file_->path(), fmt::format("'{}' does not have the bytes of its shape", name));
    tensors.add(std::move(tensor), std::move(placement));
  }

  [[nodiscard]] std::shared_ptr<const Source> source(const onnx::TensorProto& proto, Dtype dtype,
                                                     Range range) const {
    if (proto.data_location() == 1) return external(proto);
    std::optional<Range> raw;
    for_each_field(range, [&](int field, Range bytes) {
      if (field == kRawDataOfTensor) raw = bytes;
    });
    if (raw) return part_of(file_, raw->offset, raw->bytes);
    return memory_source(typed_data(proto, dtype));
  }

  [[nodiscard]] std::shared_ptr<const Source> external(const onnx::TensorProto& proto) const {
    const auto fail = [&](std::string_view what) {
      damaged(file_->path(), fmt::format("the external data of '{}' {}", proto.name(), what));
    };
    std::string location;
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> length;
    for (const auto& entry : proto.external_data()) {
      if (entry.key() == "location") location = entry.value();
      if (entry.key() != "offset" && entry.key() != "length") continue;
      std::uint64_t number = 0;
      const char* const end = entry.value().data() + entry.value().size();
      const auto parsed = std::from_chars(entry.value().data(), end, number);
      if (parsed.ec != std::errc{} || parsed.ptr != end) fail("is at no place");
      if (entry.key() == "offset")
        offset = number;
      else
        length = number;
    }
    if (location.empty() || !is_beside(location))
      unsupported(file_->path(),
                  fmt::format("the external data of '{}' is not in the model's directory: '{}'",
                              proto.name(), location));
    auto data = std::make_shared<OpenFile>(file_->path().parent_path() / location);
    if (offset > data->size() || length.value_or(0) > data->size() - offset)
      fail(fmt::format("goes beyond the end of '{}'", location));
    const std::uint64_t bytes = length.value_or(data->size() - offset);
    return part_of(std::move(data), offset, bytes);
  }

  /// Whether a path leads to a place in the model's directory, links followed.
  [[nodiscard]] bool is_beside(const fs::path& location) const {
    if (location.is_absolute()) return false;
    fs::path directory = file_->path().parent_path();
    if (directory.empty()) directory = ".";
    std::error_code error;
    const fs::path inside = fs::canonical(directory, error);
    if (error) return false;
    const fs::path target = fs::weakly_canonical(inside / location, error);
    const auto [end, unused] =
        std::mismatch(inside.begin(), inside.end(), target.begin(), target.end());
    return !error && end == inside.end();
  }

  std::shared_ptr<const OpenFile> file_;
  HeldBytes held_;
};

}  // namespace

bool looks_like_onnx(const OpenFile& file) { return file.path().extension() == ".onnx"; }

std::unique_ptr<TensorFile> open_onnx(std::shared_ptr<const OpenFile> file) {
  return Model(std::move(file)).tensors();
}

}  // namespace ulpscope::tensors
