#include "tensors/hdf5_text.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "dump/h5.hpp"
#include "tensors/stored_tensors.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::tensors {
namespace {

namespace h5 = dump::h5;

/// Texts that are read at a time, if the first dimension allows that.
constexpr hsize_t kPiece = 256;
/// Bytes of texts of fixed length that are read at a time.
constexpr hsize_t kMostPadded = hsize_t{1} << 24;

/// A text of fixed length, without its padding.
[[nodiscard]] std::string_view unpadded(std::string_view text, H5T_str_t padding) {
  if (padding != H5T_STR_SPACEPAD) return text.substr(0, text.find('\0'));
  const std::size_t last = text.find_last_not_of(' ');
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

/// Reads texts in row-major order, piece by piece.
class Texts {
 public:
  Texts(const Hdf5Strings& strings, std::size_t most)
      : strings_(strings),
        space_(h5::checked("read a dataspace", H5Dget_space(strings.dataset))),
        most_(most) {}

  /// False once there are more than `most` bytes.
  [[nodiscard]] bool add(const std::vector<hsize_t>& begin, const std::vector<hsize_t>& count,
                         hsize_t texts) {
    if (!begin.empty())
      h5::checked("select texts", H5Sselect_hyperslab(space_.get(), H5S_SELECT_SET, begin.data(),
                                                      nullptr, count.data(), nullptr));
    const h5::Space packed(h5::checked("describe memory", H5Screate_simple(1, &texts, nullptr)));
    return h5::checked("read a type", H5Tis_variable_str(strings_.type)) > 0
               ? add_variable(packed.get(), texts)
               : add_fixed(packed.get(), texts);
  }

  [[nodiscard]] std::optional<Hdf5Texts> padded() const {
    Hdf5Texts result;
    for (const std::string& text : texts_)
      result.longest = std::max<std::uint64_t>(result.longest, text.size());
    if (result.longest * texts_.size() > most_) return std::nullopt;
    for (const std::string& text : texts_) {
      result.bytes += text;
      result.bytes.append(result.longest - text.size(), '\0');
    }
    return result;
  }

 private:
  [[nodiscard]] bool add_variable(hid_t packed, hsize_t texts) {
    std::vector<char*> read(texts, nullptr);
    h5::checked("read texts", H5Dread(strings_.dataset, strings_.memory, packed, space_.get(),
                                      H5P_DEFAULT, read.data()));
    bool fits = true;
    for (const char* const text : read) fits = fits && keep(text == nullptr ? "" : text);
    H5Dvlen_reclaim(strings_.memory, packed, H5P_DEFAULT, read.data());
    return fits;
  }

  [[nodiscard]] bool add_fixed(hid_t packed, hsize_t texts) {
    const std::size_t size = H5Tget_size(strings_.type);
    if (size == 0 || size > kMostPadded / texts) return false;
    std::string read(texts * size, '\0');
    h5::checked("read texts", H5Dread(strings_.dataset, strings_.memory, packed, space_.get(),
                                      H5P_DEFAULT, read.data()));
    const H5T_str_t padding = H5Tget_strpad(strings_.type);
    bool fits = true;
    for (std::size_t k = 0; k < texts; ++k)
      fits = fits && keep(unpadded(std::string_view(read).substr(k * size, size), padding));
    return fits;
  }

  [[nodiscard]] bool keep(std::string_view text) {
    kept_ += text.size() + 1;
    if (kept_ > most_) return false;
    texts_.emplace_back(text);
    return true;
  }

  const Hdf5Strings& strings_;
  h5::Space space_;
  std::size_t most_;
  std::size_t kept_ = 0;
  std::vector<std::string> texts_;
};

/// All texts, in ranges of the first dimension.
[[nodiscard]] bool add_all(Texts& texts, const std::vector<std::int64_t>& shape, hsize_t all) {
  if (shape.empty()) return texts.add({}, {}, 1);
  const auto size = static_cast<hsize_t>(shape.front());
  const hsize_t inner = all / size;
  const hsize_t most = std::max<hsize_t>(kPiece / inner, 1);
  std::vector<hsize_t> begin(shape.size(), 0);
  std::vector<hsize_t> count(shape.begin(), shape.end());
  for (; begin.front() < size; begin.front() += most) {
    count.front() = std::min(most, size - begin.front());
    if (!texts.add(begin, count, count.front() * inner)) return false;
  }
  return true;
}

}  // namespace

std::optional<Hdf5Texts> read_texts(const Hdf5Strings& strings, std::size_t most) {
  const auto count = byte_count(strings.shape, 1);
  if (!count || *count > most) return std::nullopt;
  try {
    Texts texts(strings, most);
    if (*count > 0 && !add_all(texts, strings.shape, *count)) return std::nullopt;
    return texts.padded();
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace ulpscope::tensors
