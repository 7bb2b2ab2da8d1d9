#include "tensors/stored_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "tensors/refuse.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::tensors {
namespace {

constexpr std::uint64_t kLargest = std::uint64_t{1} << 62;
constexpr std::size_t kMostDimensions = 64;
constexpr std::size_t kMostTensors = std::size_t{1} << 20;
/// An expanded tensor has more elements than there are in the file.
constexpr std::uint64_t kMostExpanded = std::uint64_t{1} << 34;
/// Of all tensors for each byte of a file. Deflate packs 1,032 bytes of zeros into one.
constexpr std::uint64_t kMostOfByte = 2048;

/// A number is what the byte order is of; a complex element has two.
[[nodiscard]] std::size_t number_size(Dtype dtype) {
  return is_complex(dtype) ? element_size(dtype) / 2 : element_size(dtype);
}

void swap_bytes(std::span<std::byte> piece, std::size_t number) {
  for (std::size_t at = 0; at + number <= piece.size(); at += number)
    std::reverse(piece.begin() + static_cast<std::ptrdiff_t>(at),
                 piece.begin() + static_cast<std::ptrdiff_t>(at + number));
}

/// Turns the bytes of every number round. Pieces are whole numbers.
class SwappedReader : public ContentReader {
 public:
  SwappedReader(std::unique_ptr<ContentReader> reader, std::size_t number)
      : reader_(std::move(reader)), number_(number) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return reader_->size(); }
  void read(std::span<std::byte> piece) override {
    reader_->read(piece);
    swap_bytes(piece, number_);
  }

 private:
  std::unique_ptr<ContentReader> reader_;
  std::size_t number_;
};

/// Strided elements in row-major order. Pieces are whole elements.
class StridedReader : public ContentReader {
 public:
  StridedReader(HeldBytes held, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                std::size_t element, std::uint64_t size)
      : held_(std::move(held)),
        shape_(std::move(shape)),
        strides_(std::move(strides)),
        index_(shape_.size(), 0),
        element_(element),
        size_(size) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  void read(std::span<std::byte> piece) override {
    for (std::size_t at = 0; at + element_ <= piece.size(); at += element_) {
      std::memcpy(&piece[at], &held_.bytes[at_ * element_], element_);
      advance();
    }
  }

 private:
  void advance() {
    for (std::size_t d = shape_.size(); d-- > 0;) {
      const auto stride = static_cast<std::uint64_t>(strides_[d]);
      at_ += stride;
      if (++index_[d] < shape_[d]) return;
      at_ -= stride * static_cast<std::uint64_t>(shape_[d]);
      index_[d] = 0;
    }
  }

  HeldBytes held_;
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;
  std::vector<std::int64_t> index_;
  std::uint64_t at_ = 0;  ///< in elements
  std::size_t element_;
  std::uint64_t size_;
};

/// Whether elements follow each other without gaps; dimensions of size 1 do not matter.
[[nodiscard]] bool is_row_major(const std::vector<std::int64_t>& shape,
                                const std::vector<std::int64_t>& strides) {
  const std::vector<std::int64_t> packed = row_major(shape);
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1 && strides[d] != packed[d]) return false;
  return true;
}

}  // namespace

std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<std::int64_t>(shape[d], 1);
  return strides;
}

std::vector<std::int64_t> column_major(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = 1; d < shape.size(); ++d)
    strides[d] = strides[d - 1] * std::max<std::int64_t>(shape[d - 1], 1);
  return strides;
}

std::optional<std::uint64_t> byte_count(const std::vector<std::int64_t>& shape,
                                        std::size_t element) {
  std::uint64_t bytes = element;
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    empty = empty || size == 0;
    const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1));
    if (__builtin_mul_overflow(bytes, factor, &bytes) || bytes > kLargest) return std::nullopt;
  }
  return empty ? 0 : bytes;
}

std::optional<std::uint64_t> extent(const StoredTensor& tensor,
                                    const std::vector<std::int64_t>& strides) {
  std::uint64_t last = 0;
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.shape[d] == 0) return 0;
    std::uint64_t further = 0;
    if (strides[d] < 0 ||
        __builtin_mul_overflow(static_cast<std::uint64_t>(tensor.shape[d] - 1),
                               static_cast<std::uint64_t>(strides[d]), &further) ||
        __builtin_add_overflow(last, further, &last) || last > kLargest)
      return std::nullopt;
  }
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(last + 1, element_size(tensor.dtype), &bytes) || bytes > kLargest)
    return std::nullopt;
  return bytes;
}

StoredTensors::StoredTensors(std::filesystem::path path, std::string format)
    : path_(std::move(path)), format_(std::move(format)) {}

void StoredTensors::limit(std::uint64_t file_size) noexcept {
  if (__builtin_mul_overflow(file_size, kMostOfByte, &left_) ||
      __builtin_add_overflow(left_, kMostExpanded, &left_))
    left_ = ~std::uint64_t{0};
}

void StoredTensors::add(StoredTensor tensor, Placement placement) {
  const auto refuse = [&](std::string_view what) {
    damaged(path_, fmt::format("{} '{}'", what, tensor.name));
  };
  if (tensor.shape.size() > kMostDimensions) refuse("more than 64 dimensions are claimed for");
  const auto bytes = byte_count(tensor.shape, element_size(tensor.dtype));
  if (!bytes) refuse("an impossible shape is claimed for");
  if (placement.strides.size() != tensor.shape.size())
    refuse("there are not as many strides as sizes for");
  const auto reach = extent(tensor, placement.strides);
  const std::uint64_t there = placement.source->size();
  if (!reach || placement.offset > there || *reach > there - placement.offset)
    refuse("the file does not hold all of");
  if (*bytes > left_ || (*bytes > *reach && *bytes > kMostExpanded))
    return add_too_large(std::move(tensor.name));
  left_ -= *bytes;
  add_any(std::move(tensor), std::move(placement));
}

void StoredTensors::add_unreadable(std::string name, std::string why) {
  StoredTensor tensor;
  tensor.name = std::move(name);
  tensor.unreadable = std::move(why);
  add_any(std::move(tensor), {});
}

void StoredTensors::add_too_large(std::string name) {
  add_unreadable(std::move(name), "claims far more than the file holds");
}

void StoredTensors::add_any(StoredTensor tensor, Placement placement) {
  if (tensors_.size() == kMostTensors) unsupported(path_, "it has more than a million tensors");
  if (!names_.insert(tensor.name).second)
    damaged(path_, fmt::format("it has two tensors of the name '{}'", tensor.name));
  tensors_.push_back(std::move(tensor));
  placements_.push_back(std::move(placement));
}

std::unique_ptr<ContentReader> StoredTensors::open(std::size_t index,
                                                   std::span<const std::size_t> axes) const {
  const StoredTensor& tensor = tensors_.at(index);
  const Placement& placement = placements_[index];
  if (!tensor.unreadable.empty())
    throw Error(ErrorCode::usage, fmt::format("'{}' has no numbers to compare", tensor.name));
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  for (const std::size_t axis : axes) {
    shape.push_back(tensor.shape.at(axis));
    strides.push_back(placement.strides[axis]);
  }
  const std::size_t element = element_size(tensor.dtype);
  const std::uint64_t bytes = byte_count(shape, element).value();
  std::unique_ptr<ContentReader> reader;
  if (is_row_major(shape, strides)) {
    reader = placement.source->stream(placement.offset, bytes);
  } else {
    const std::uint64_t reach = extent(tensor, placement.strides).value();
    if (reach > placement.source->most_held())
      unsupported(path_, fmt::format("'{}' is not in row-major order, and larger than 4 GiB in an "
                                     "archive or in chunks",
                                     tensor.name));
    reader = std::make_unique<StridedReader>(placement.source->hold(placement.offset, reach),
                                             std::move(shape), std::move(strides), element, bytes);
  }
  if (placement.order == std::endian::native) return reader;
  return std::make_unique<SwappedReader>(std::move(reader), number_size(tensor.dtype));
}

}  // namespace ulpscope::tensors
