#include "dump/h5.hpp"

#include <string>

#include "ulpscope/dtype.hpp"
#include "ulpscope/error.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::dump::h5 {
namespace {

constexpr std::size_t kLongestAttribute = 60000;  // HDF5 keeps attributes under 64 KiB

herr_t take_innermost(unsigned depth, const H5E_error2_t* error, void* text) {
  if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

template <class Number>
void add_name(hid_t type, const char* name, Number number) {
  const auto value = static_cast<std::uint8_t>(number);
  checked("describe an enumeration", H5Tenum_insert(type, name, &value));
}

Type byte_enumeration() {
  return Type(checked("create an enumeration", H5Tenum_create(H5T_STD_U8LE)));
}

Type kind_type() {
  auto type = byte_enumeration();
  add_name(type.get(), "op", EventKind::op);
  add_name(type.get(), "node", EventKind::node);
  add_name(type.get(), "scope", EventKind::scope);
  add_name(type.get(), "module", EventKind::module);
  add_name(type.get(), "gradient", EventKind::gradient);
  add_name(type.get(), "optimizer", EventKind::optimizer);
  add_name(type.get(), "zero_grad", EventKind::zero_grad);
  add_name(type.get(), "step", EventKind::step);
  add_name(type.get(), "module_output", EventKind::module_output);
  add_name(type.get(), "module_gradient", EventKind::module_gradient);
  add_name(type.get(), "parameters", EventKind::parameters);
  add_name(type.get(), "kernel", EventKind::kernel);
  add_name(type.get(), "outcome", EventKind::outcome);
  return type;
}

Type phase_type() {
  auto type = byte_enumeration();
  for (const Phase phase : {Phase::setup, Phase::data, Phase::forward, Phase::backward,
                            Phase::optimizer, Phase::eval}) {
    add_name(type.get(), std::string(name(phase)).c_str(), phase);
  }
  return type;
}

Type role_type() {
  Type type(checked("create an enumeration", H5Tenum_create(H5T_STD_U16LE)));
  for (const Role role : {Role::input, Role::output, Role::mutated}) {
    const auto value = static_cast<std::uint16_t>(role);
    checked("describe an enumeration",
            H5Tenum_insert(type.get(), std::string(name(role)).c_str(), &value));
  }
  return type;
}

Type lane_role_type() {
  Type type(checked("create an enumeration", H5Tenum_create(H5T_STD_U64LE)));
  const char* const names[] = {"main", "autograd", "worker", "thread", "trainer"};
  for (std::uint64_t value = 0; value < std::size(names); ++value) {
    checked("describe an enumeration", H5Tenum_insert(type.get(), names[value], &value));
  }
  return type;
}

template <class Number>
Type dtype_type(hid_t base) {
  Type type(checked("create an enumeration", H5Tenum_create(base)));
  for (unsigned number = 0; number < 256; ++number) {
    const auto dtype = static_cast<Dtype>(number);
    const std::string spelling(name(dtype));
    if (dtype_from_name(spelling) == dtype && spelling != "dtype" + std::to_string(number)) {
      const auto value = static_cast<Number>(dtype);
      checked("describe an enumeration", H5Tenum_insert(type.get(), spelling.c_str(), &value));
    }
  }
  return type;
}

Type element_type(ColumnType type) {
  const auto copy = [](hid_t id) { return Type(checked("copy a type", H5Tcopy(id))); };
  switch (type) {
    case ColumnType::u8:
      return copy(H5T_STD_U8LE);
    case ColumnType::i8:
      return copy(H5T_STD_I8LE);
    case ColumnType::u16:
      return copy(H5T_STD_U16LE);
    case ColumnType::u32:
      return copy(H5T_STD_U32LE);
    case ColumnType::u64:
      return copy(H5T_STD_U64LE);
    case ColumnType::i64:
      return copy(H5T_STD_I64LE);
    case ColumnType::event_kind:
      return kind_type();
    case ColumnType::phase:
      return phase_type();
    case ColumnType::role:
      return role_type();
    case ColumnType::lane_role:
      return lane_role_type();
    case ColumnType::dtype:
      return dtype_type<std::uint8_t>(H5T_STD_U8LE);
    case ColumnType::wide_dtype:
      return dtype_type<std::uint64_t>(H5T_STD_U64LE);
    case ColumnType::f64:
      return copy(H5T_IEEE_F64LE);
  }
  throw Error(ErrorCode::usage, "A column has a type that does not exist.");
}

Space text_space() { return Space(checked("create a scalar", H5Screate(H5S_SCALAR))); }

Type text_type(std::size_t size) {
  Type type(checked("copy a type", H5Tcopy(H5T_C_S1)));
  checked("size a string", H5Tset_size(type.get(), size));
  checked("mark a string as UTF-8", H5Tset_cset(type.get(), H5T_CSET_UTF8));
  checked("pad a string", H5Tset_strpad(type.get(), H5T_STR_NULLPAD));
  return type;
}

/// The system's message, which HDF5 returns among addresses, sizes and the time of day; empty
/// if there is no such thing.
std::string said_by_system(const std::string& reason) {
  constexpr std::string_view kBefore = "error message = '";
  const std::size_t found = reason.find(kBefore);
  if (found == std::string::npos) return {};
  const std::size_t begin = found + kBefore.size();
  return reason.substr(begin, reason.find('\'', begin) - begin);
}

}  // namespace

Quiet::Quiet() {
  // Its exit handler crashes where a full disk kept a file from being closed.
  [[maybe_unused]] static const herr_t kLeftAlone = H5dont_atexit();
  H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Quiet::~Quiet() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }

void fail(std::string_view doing) {
  std::string reason = "no reason given";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_innermost, &reason);
  const std::string system = said_by_system(reason);
  if (!system.empty()) {
    throw Error(ErrorCode::io, "Cannot " + std::string(doing) + ": " + system + ".");
  }
  throw Error(ErrorCode::io, "HDF5 cannot " + std::string(doing) + ": " + reason + ".");
}

Type row_type(const TableSchema& table) {
  if (table.columns.empty()) return element_type(table.element);
  Type type(checked("create a row type", H5Tcreate(H5T_COMPOUND, table.row_size)));
  for (const Column& column : table.columns) {
    const Type member = element_type(column.type);
    checked("describe a column", H5Tinsert(type.get(), column.name, column.offset, member.get()));
  }
  return type;
}

std::uint64_t write_table(hid_t file, const TableSchema& table, std::span<const std::byte> bytes) {
  const hsize_t rows = bytes.size() / table.row_size;
  const Type type = row_type(table);
  const Space space(checked("create a table", H5Screate_simple(1, &rows, nullptr)));
  const Properties properties(checked("create a table", H5Pcreate(H5P_DATASET_CREATE)));
  checked("create a table", H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER));
  Dataset dataset(
      checked("create a table", H5Dcreate2(file, table.path, type.get(), space.get(), H5P_DEFAULT,
                                           properties.get(), H5P_DEFAULT)));
  if (rows > 0) {
    checked("write a table",
            H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()));
  }
  write_attribute(dataset.get(), "description", table.description);
  const std::uint64_t offset = rows > 0 ? offset_of(dataset) : 0;
  close(dataset);
  return offset;
}

void close(Dataset& dataset) { checked("write a dataset", H5Dclose(dataset.release())); }

Space space_of(std::span<const hsize_t> sizes) {
  return Space(checked(
      "create a shape",
      sizes.empty() ? H5Screate(H5S_SCALAR)
                    : H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr)));
}

std::uint64_t offset_of(const Dataset& dataset) {
  const haddr_t address = H5Dget_offset(dataset.get());
  if (address == HADDR_UNDEF) fail("make room for contents");
  return address;
}

void write_attribute(hid_t object, const char* name, std::string_view text) {
  text = text.substr(0, kLongestAttribute);
  // HDF5 has no strings of size 0; one padding byte reads back as the empty string.
  const std::string padded = text.empty() ? std::string(1, '\0') : std::string(text);
  const Type type = text_type(padded.size());
  const Space space = text_space();
  const Attribute attribute(
      checked("create an attribute",
              H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT)));
  checked("write an attribute", H5Awrite(attribute.get(), type.get(), padded.data()));
}

void write_attribute(hid_t object, const char* name, std::int64_t number) {
  const Space space = text_space();
  const Attribute attribute(
      checked("create an attribute",
              H5Acreate2(object, name, H5T_STD_I64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT)));
  checked("write an attribute", H5Awrite(attribute.get(), H5T_NATIVE_INT64, &number));
}

}  // namespace ulpscope::dump::h5
