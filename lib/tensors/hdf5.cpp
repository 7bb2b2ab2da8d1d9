#include "tensors/hdf5.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tensors/memory_source.hpp"
#include "tensors/refuse.hpp"
#include "tensors/stored_tensors.hpp"

namespace ulpscope::tensors {
namespace {

/// A dataset as boxes that follow each other in row-major order: of one dimension a range of
/// indices, of those before it one index, of those after it all.
class Boxes {
 public:
  Boxes(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& chunk,
        std::size_t element)
      : shape_(shape), begin_(shape.size(), 0) {
    inner_ = element;
    cut_ = shape_.size();
    // Chunks that are higher than a row are read again for every box that has a part of them.
    if (std::any_of(chunk.begin(), chunk.end() - !chunk.empty(),
                    [](auto size) { return size > 1; }))
      most_chunks_ = kMostHighChunks;
    std::int64_t chunks = 1;  // that all indices of the dimensions from `cut_` on touch
    const auto fits = [&](std::size_t d) {
      if (inner_ == 0) return true;  // nothing is read
      return inner_ * static_cast<std::uint64_t>(shape_[d]) <= Hdf5Process::kBox &&
             chunks * chunks_along(d, chunk) <= most_chunks_;
    };
    for (; cut_ > 0 && fits(cut_ - 1); --cut_) {
      inner_ *= static_cast<std::uint64_t>(shape_[cut_ - 1]);
      chunks *= chunks_along(cut_ - 1, chunk);
    }
    if (cut_ == 0) return;
    --cut_;
    most_ = static_cast<std::int64_t>(Hdf5Process::kBox / inner_);
    if (cut_ >= chunk.size() || chunk[cut_] <= 0 || most_ <= chunk[cut_]) return;
    // Whole chunks, so that each is unpacked once.
    most_ = std::min(most_ / chunk[cut_], most_chunks_ / chunks) * chunk[cut_];
  }

  [[nodiscard]] const std::vector<std::int64_t>& begin() const noexcept { return begin_; }
  [[nodiscard]] std::vector<std::int64_t> size() const {
    std::vector<std::int64_t> size = shape_;
    for (std::size_t d = 0; most_ > 0 && d < cut_; ++d) size[d] = 1;
    if (most_ > 0) size[cut_] = count();
    return size;
  }
  [[nodiscard]] std::uint64_t bytes() const {
    return most_ > 0 ? inner_ * static_cast<std::uint64_t>(count()) : inner_;
  }
  void next() {
    if (most_ == 0) return;
    begin_[cut_] += count();
    for (std::size_t d = cut_; d > 0 && begin_[d] == shape_[d]; --d) {
      begin_[d] = 0;
      ++begin_[d - 1];
    }
  }

 private:
  /// HDF5 takes 6 KB of memory for each chunk of a box.
  static constexpr std::int64_t kMostChunks = std::int64_t{1} << 16;
  static constexpr std::int64_t kMostHighChunks = std::int64_t{1} << 18;

  /// Between 1 and one more than there may be.
  [[nodiscard]] std::int64_t chunks_along(std::size_t d,
                                          const std::vector<std::int64_t>& chunk) const {
    if (d >= chunk.size() || chunk[d] <= 0) return 1;
    return std::clamp<std::int64_t>(shape_[d] / chunk[d], 1, most_chunks_ + 1);
  }
  [[nodiscard]] std::int64_t count() const { return std::min(most_, shape_[cut_] - begin_[cut_]); }

  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> begin_;
  std::int64_t most_chunks_ = kMostChunks;
  std::size_t cut_ = 0;      ///< the dimension of which a box has a range
  std::int64_t most_ = 0;    ///< indices of it in a box; 0: all is one box
  std::uint64_t inner_ = 0;  ///< bytes of one of them
};

class BoxReader : public ContentReader {
 public:
  BoxReader(std::shared_ptr<Hdf5Process> process, Hdf5Part part, Boxes boxes, std::uint64_t size)
      : process_(std::move(process)),
        part_(std::move(part)),
        boxes_(std::move(boxes)),
        size_(size) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  void read(std::span<std::byte> piece) override {
    while (!piece.empty()) {
      if (at_ == box_.size()) fetch();
      const std::size_t taken = std::min(piece.size(), box_.size() - at_);
      std::memcpy(piece.data(), &box_[at_], taken);
      at_ += taken;
      piece = piece.subspan(taken);
    }
  }

 private:
  /// It is copied, because another dataset of the file may be read before it is used up.
  void fetch() {
    const auto bytes = process_->read(part_, boxes_.begin(), boxes_.size(), boxes_.bytes());
    box_.assign(bytes.begin(), bytes.end());
    at_ = 0;
    boxes_.next();
  }

  std::shared_ptr<Hdf5Process> process_;
  Hdf5Part part_;
  Boxes boxes_;
  std::uint64_t size_;
  std::vector<std::byte> box_;
  std::size_t at_ = 0;
};

class DatasetSource : public Source {
 public:
  DatasetSource(std::shared_ptr<Hdf5Process> process, const Hdf5Entry& entry, std::uint64_t size)
      : process_(std::move(process)), entry_(entry), size_(size) {}

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] std::unique_ptr<ContentReader> stream(std::uint64_t,
                                                      std::uint64_t bytes) const override {
    return std::make_unique<BoxReader>(
        process_, entry_.part, Boxes(entry_.shape, entry_.chunk, element_size(entry_.dtype)),
        bytes);
  }

 private:
  std::shared_ptr<Hdf5Process> process_;
  Hdf5Entry entry_;
  std::uint64_t size_;
};

[[nodiscard]] bool is_inside(const Source& whole, const Hdf5Entry& entry, std::uint64_t bytes) {
  return entry.offset <= whole.size() && bytes <= whole.size() - entry.offset;
}

}  // namespace

bool looks_like_hdf5(const OpenFile& file) {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  constexpr std::uint64_t kFirstAfter = 512;
  constexpr std::uint64_t kLastLooked = std::uint64_t{1} << 24;
  for (std::uint64_t at = 0; at <= kLastLooked && at + kSignature.size() <= file.size();
       at = at == 0 ? kFirstAfter : 2 * at)
    if (file.text_at(at, kSignature.size()) == kSignature) return true;
  return false;
}

void add_datasets(const Hdf5Place& place, const std::shared_ptr<const Source>& whole,
                  StoredTensors& tensors) {
  add_datasets(std::make_shared<Hdf5Process>(place), whole, tensors);
}

void add_datasets(const std::shared_ptr<Hdf5Process>& process,
                  const std::shared_ptr<const Source>& whole, StoredTensors& tensors) {
  for (Hdf5Entry& entry : process->list()) {
    if (!entry.unreadable.empty()) {
      tensors.add_unreadable(std::move(entry.name), std::move(entry.unreadable));
      continue;
    }
    StoredTensor tensor{
        .name = entry.name, .dtype = entry.dtype, .shape = entry.shape, .unreadable = {}};
    Placement placement{.source = nullptr, .strides = {}, .order = entry.order};
    const auto bytes = byte_count(entry.shape, element_size(entry.dtype));
    if (!bytes) {
      tensors.add_too_large(std::move(entry.name));
      continue;
    }
    if (element_size(entry.dtype) == 0)
      damaged(tensors.path(), "an unknown dtype is claimed for '" + entry.name + "'");
    placement.strides = row_major(entry.shape);
    if (entry.is_text) {
      placement.source = memory_source(std::move(entry.text));
    } else if (!entry.contiguous) {
      placement.source = std::make_shared<DatasetSource>(process, entry, *bytes);
    } else if (is_inside(*whole, entry, *bytes)) {
      placement.source = whole;
      placement.offset = entry.offset;
    } else {
      damaged(tensors.path(), "the bytes of '" + entry.name + "' are outside of it");
    }
    tensors.add(std::move(tensor), std::move(placement));
  }
}

std::unique_ptr<TensorFile> open_hdf5(std::shared_ptr<const OpenFile> file) {
  auto tensors = std::make_unique<StoredTensors>(file->path(), "hdf5");
  tensors->limit(file->size());
  add_datasets({file->path(), ""}, part_of(file, 0, file->size()), *tensors);
  return tensors;
}

}  // namespace ulpscope::tensors
