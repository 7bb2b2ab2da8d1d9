#pragma once

#include <bit>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "tensors/source.hpp"
#include "ulpscope/tensor_file.hpp"

namespace ulpscope::tensors {

/// How a tensor's elements lie in a source.
struct Placement {
  std::shared_ptr<const Source> source;
  std::uint64_t offset = 0;           ///< of the first element, in bytes
  std::vector<std::int64_t> strides;  ///< in elements, none negative
  std::endian order = std::endian::little;
};

/// In elements, of a tensor without gaps.
[[nodiscard]] std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& shape);
[[nodiscard]] std::vector<std::int64_t> column_major(const std::vector<std::int64_t>& shape);

/// The product of sizes and the bytes of an element; empty if a size is negative or there are more
/// than 2^62 bytes, sizes of 0 left out.
[[nodiscard]] std::optional<std::uint64_t> byte_count(const std::vector<std::int64_t>& shape,
                                                      std::size_t element);

/// From the first element to the end of the last one, in bytes; empty if that is more than 2^62.
[[nodiscard]] std::optional<std::uint64_t> extent(const StoredTensor& tensor,
                                                  const std::vector<std::int64_t>& strides);

/// The tensors of a file, which a reader of its format adds.
class StoredTensors : public TensorFile {
 public:
  StoredTensors(std::filesystem::path path, std::string format);

  /// Of a file of this many bytes: what its tensors have together by repeating, unpacking or
  /// leaving out bytes. Those beyond that become unreadable.
  void limit(std::uint64_t file_size) noexcept;
  /// Checks that the elements are inside of the source.
  /// @throws Error with ErrorCode::corrupt if not, if the shape is not possible or if the name is
  /// there already.
  void add(StoredTensor tensor, Placement placement);
  /// One without numbers that can be compared.
  void add_unreadable(std::string name, std::string why);
  /// One whose shape has more than its file can.
  void add_too_large(std::string name);

  [[nodiscard]] const std::filesystem::path& path() const override { return path_; }
  [[nodiscard]] std::string_view format() const override { return format_; }
  [[nodiscard]] std::span<const StoredTensor> tensors() const override { return tensors_; }
  [[nodiscard]] std::unique_ptr<ContentReader> open(
      std::size_t index, std::span<const std::size_t> axes) const override;

 private:
  void add_any(StoredTensor tensor, Placement placement);

  std::filesystem::path path_;
  std::string format_;
  std::vector<StoredTensor> tensors_;
  std::vector<Placement> placements_;
  std::unordered_set<std::string> names_;
  std::uint64_t left_ = ~std::uint64_t{0};  ///< bytes that further tensors may have
};

}  // namespace ulpscope::tensors
