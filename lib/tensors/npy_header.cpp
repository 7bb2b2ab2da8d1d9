#include "tensors/npy_header.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "tensors/refuse.hpp"
#include "ulpscope/error.hpp"

// xtensor has a reader of this header in its namespace `detail`. It takes what it does not know for
// numbers (objects, records), multiplies sizes without a check, and reserves what a header claims.
namespace ulpscope::tensors {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kLongestHeader = std::size_t{1} << 20;

[[noreturn]] void refuse(const std::string& where, std::string_view what) {
  throw Error(ErrorCode::corrupt, fmt::format("'{}' is damaged: {}", where, what),
              "write the file again with numpy.save or numpy.savez");
}

/// The header's text: a Python dictionary of a string (or list), a bool and a tuple of integers.
class Literal {
 public:
  Literal(std::string_view text, const std::string& where) : rest_(text), where_(where) {}

  [[nodiscard]] bool accepts(char c) {
    skip_blank();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accepts(c)) fail();
  }
  [[nodiscard]] std::string text() {
    skip_blank();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) fail();
    const char quote = rest_.front();
    const std::size_t end = rest_.find(quote, 1);
    if (end == rest_.npos) fail();
    const std::string value(rest_.substr(1, end - 1));
    if (value.find('\\') != value.npos) fail();
    rest_.remove_prefix(end + 1);
    return value;
  }
  [[nodiscard]] bool truth() {
    skip_blank();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return value;
    }
    fail();
  }
  [[nodiscard]] std::vector<std::int64_t> sizes() {
    std::vector<std::int64_t> values;
    expect('(');
    while (!accepts(')')) {
      skip_blank();
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
      if (error != std::errc{} || value < 0 || values.size() == 64) fail();
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      if (rest_.starts_with('L')) rest_.remove_prefix(1);  // as Python 2 wrote them
      values.push_back(value);
      if (!accepts(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }
  /// The text of a list, brackets included, which is not looked into.
  [[nodiscard]] std::string list() {
    skip_blank();
    std::size_t depth = 0;
    for (std::size_t at = 0; at < rest_.size(); ++at) {
      if (rest_[at] == '[') ++depth;
      if (rest_[at] == ']' && --depth == 0) {
        std::string value(rest_.substr(0, at + 1));
        rest_.remove_prefix(at + 1);
        return value;
      }
      if (depth == 0) break;
    }
    fail();
  }
  [[nodiscard]] bool at_list() {
    skip_blank();
    return rest_.starts_with('[');
  }
  void expect_end() {
    skip_blank();
    if (!rest_.empty()) fail();
  }

 private:
  void skip_blank() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n'))
      rest_.remove_prefix(1);
  }
  [[noreturn]] void fail() const { refuse(where_, "its header is not one of a .npy file"); }

  std::string_view rest_;
  const std::string& where_;
};

/// Kind and bytes of a type, "f4", for those that are numbers of ours.
[[nodiscard]] std::optional<Dtype> dtype_of(std::string_view kind) {
  static const std::map<std::string_view, Dtype> known{
      {"b1", Dtype::bool_},     {"i1", Dtype::int8},       {"i2", Dtype::int16},
      {"i4", Dtype::int32},     {"i8", Dtype::int64},      {"u1", Dtype::uint8},
      {"u2", Dtype::uint16},    {"u4", Dtype::uint32},     {"u8", Dtype::uint64},
      {"f2", Dtype::float16},   {"f4", Dtype::float32},    {"f8", Dtype::float64},
      {"c8", Dtype::complex64}, {"c16", Dtype::complex128}};
  const auto found = known.find(kind);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

/// Types of ml_dtypes, which JAX's arrays have. NumPy writes only their kinds and sizes; bytes of
/// no type of its own are "|V2", and several types have one byte.
[[nodiscard]] std::optional<Dtype> dtype_of_ml_dtypes(std::string_view descr) {
  if (descr == "<V2") return Dtype::bfloat16;
  if (descr == "<f1") return Dtype::float8_e5m2;
  return std::nullopt;
}

/// Why a type has no numbers to compare.
[[nodiscard]] std::string why_not(std::string_view kind) {
  switch (kind.empty() ? '?' : kind.front()) {
    case 'O':
      return "holds Python objects, which are not unpickled";
    case 'S':
    case 'U':
      return "holds text";
    case 'M':
    case 'm':
      return "holds dates";
    case 'V':
      return "holds bytes that NumPy knows no type of";
    default:
      return fmt::format("has the NumPy type {}, which is not read", kind);
  }
}

void set_type(const std::string& descr, NpyHeader& header) {
  if (const auto dtype = dtype_of_ml_dtypes(descr)) {
    header.tensor.dtype = *dtype;
    return;
  }
  if (descr == "<V1") {
    header.tensor.unreadable = "has a type of one byte that the file does not name";
    return;
  }
  std::string_view kind = descr;
  if (!kind.empty() && std::string_view("<>|=").find(kind.front()) != std::string_view::npos) {
    if (kind.front() == '>') header.order = std::endian::big;
    kind.remove_prefix(1);
  }
  if (const auto dtype = dtype_of(kind))
    header.tensor.dtype = *dtype;
  else
    header.tensor.unreadable = why_not(kind);
}

void set_record(const std::string& descr, NpyHeader& header) {
  if (descr == "[('real', '<f2'), ('imag', '<f2')]")
    header.tensor.dtype = Dtype::complex32;
  else
    header.tensor.unreadable = "holds records of several fields";
}

}  // namespace

NpyHeader read_npy_header(ContentReader& reader, const std::string& where) {
  NpyHeader header;
  std::array<unsigned char, 12> start{};
  const auto read = [&](std::size_t from, std::size_t bytes) {
    if (header.bytes + bytes > reader.size()) refuse(where, "it ends in its header");
    reader.read(std::as_writable_bytes(std::span(start).subspan(from, bytes)));
    header.bytes += bytes;
  };
  read(0, 8);
  if (std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0)
    refuse(where, "it does not begin as a .npy file does");
  const unsigned version = start[6];
  if (version < 1 || version > 3)
    refuse(where, fmt::format("there is no version {} of .npy files", version));
  read(8, version == 1 ? 2 : 4);
  std::size_t length = start[8] + (std::size_t{start[9]} << 8);
  if (version > 1) length += (std::size_t{start[10]} << 16) + (std::size_t{start[11]} << 24);
  if (length > kLongestHeader) unsupported(where, "its header claims more than 1 MB");
  if (header.bytes + length > reader.size()) refuse(where, "it ends in its header");
  std::string text(length, '\0');
  reader.read(std::as_writable_bytes(std::span(text)));
  header.bytes += length;

  Literal literal(text, where);
  unsigned seen = 0;
  literal.expect('{');
  while (!literal.accepts('}')) {
    const std::string key = literal.text();
    literal.expect(':');
    unsigned bit = 0;
    if (key == "descr") {
      bit = 1;
      if (literal.at_list())
        set_record(literal.list(), header);
      else
        set_type(literal.text(), header);
    } else if (key == "fortran_order") {
      bit = 2;
      header.column_major = literal.truth();
    } else if (key == "shape") {
      bit = 4;
      header.tensor.shape = literal.sizes();
    }
    if (bit == 0 || (seen & bit) != 0) refuse(where, fmt::format("its header has '{}'", key));
    seen |= bit;
    if (!literal.accepts(',')) {
      literal.expect('}');
      break;
    }
  }
  literal.expect_end();
  if (seen != 7) refuse(where, "its header lacks descr, fortran_order or shape");
  return header;
}

}  // namespace ulpscope::tensors
