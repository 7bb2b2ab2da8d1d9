#include "tensors/torch_archive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tensors/memory_source.hpp"
#include "tensors/pickle.hpp"
#include "tensors/refuse.hpp"
#include "tensors/stored_tensors.hpp"

namespace ulpscope::tensors {
namespace {

constexpr std::string_view kPickle = "data.pkl";
constexpr std::string_view kConstants = "constants.pkl";
constexpr std::uint64_t kLargestPickle = std::uint64_t{64} << 20;

/// torch.FloatStorage and its like; empty for another name.
[[nodiscard]] std::optional<Dtype> storage_dtype(std::string_view global) {
  static const std::map<std::string_view, Dtype> known{
      {"torch.FloatStorage", Dtype::float32},
      {"torch.DoubleStorage", Dtype::float64},
      {"torch.HalfStorage", Dtype::float16},
      {"torch.BFloat16Storage", Dtype::bfloat16},
      {"torch.LongStorage", Dtype::int64},
      {"torch.IntStorage", Dtype::int32},
      {"torch.ShortStorage", Dtype::int16},
      {"torch.CharStorage", Dtype::int8},
      {"torch.ByteStorage", Dtype::uint8},
      {"torch.BoolStorage", Dtype::bool_},
      {"torch.ComplexFloatStorage", Dtype::complex64},
      {"torch.ComplexDoubleStorage", Dtype::complex128},
      {"torch.storage.UntypedStorage", Dtype::uint8}};
  const auto found = known.find(global);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

/// The dtype that torch.float32 and its like name.
[[nodiscard]] std::optional<Dtype> dtype_in_torch(std::string_view global) {
  constexpr std::string_view kTorch = "torch.";
  if (!global.starts_with(kTorch)) return std::nullopt;
  return dtype_from_name(global.substr(kTorch.size()));
}

/// Classes of TorchScript are only names for the attributes that follow.
[[nodiscard]] bool is_script_class(std::string_view global) {
  return global.starts_with("__torch__.");
}

/// Calls whose result is their first argument.
[[nodiscard]] bool returns_first(std::string_view global) {
  static const std::set<std::string_view> known{"torch._utils._rebuild_parameter",
                                                "torch._utils._rebuild_parameter_with_state",
                                                "torch.Size",
                                                "torch.device",
                                                "torch.jit._pickle.build_intlist",
                                                "torch.jit._pickle.build_doublelist",
                                                "torch.jit._pickle.build_boollist",
                                                "torch.jit._pickle.build_tensorlist",
                                                "torch.jit._pickle.restore_type_tag",
                                                "torch.serialization._get_layout"};
  return known.contains(global);
}

[[nodiscard]] bool is_allowed(std::string_view global) {
  static const std::set<std::string_view> others{
      "torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2",
      "torch._utils._rebuild_tensor_v3", "torch._utils._rebuild_sparse_tensor",
      "collections.OrderedDict"};
  return others.contains(global) || returns_first(global) || storage_dtype(global) ||
         dtype_in_torch(global) || is_script_class(global);
}

/// The values of a pickle, as the tensors of the archive.
class PickledTensors {
 public:
  PickledTensors(std::shared_ptr<const ZipArchive> archive, std::string folder,
                 std::string_view pickle, StoredTensors& tensors)
      : archive_(std::move(archive)), folder_(std::move(folder)), tensors_(tensors) {
    if (const ZipMember* order = archive_->find(folder_ + "byteorder"))
      order_ = content(*order) == "big" ? std::endian::big : std::endian::little;
    storages_ = folder_ + std::string(pickle.substr(0, pickle.find('.'))) + "/";
    try {
      values_ = read_pickle(content(*archive_->find(folder_ + std::string(pickle))), is_allowed);
    } catch (const PickleRefused& refused) {
      unsupported(archive_->path(), "its pickle " + refused.why(),
                  "pickles are read, never executed; save tensors alone: "
                  "torch.save(model.state_dict(), FILE)");
    }
  }

  void add_all(const std::string& path) { add(path, values_.root(), 0); }

 private:
  struct Storage {
    const ZipMember* member = nullptr;
    Dtype dtype = Dtype::undefined;
  };

  [[noreturn]] void refuse(const std::string& path, std::string_view what) const {
    damaged(archive_->path(), fmt::format("{} '{}'", what, path));
  }

  [[nodiscard]] std::string content(const ZipMember& member) const {
    if (member.bytes > kLargestPickle)
      unsupported(archive_->path(), fmt::format("'{}' in it is larger than 64 MB", member.name));
    const HeldBytes held = member_of(archive_, member)->hold(0, member.bytes);
    return {reinterpret_cast<const char*>(held.bytes.data()), held.bytes.size()};
  }

  [[nodiscard]] const PickledValue& value(ValueId id) const { return values_.at(id); }

  void add(const std::string& path, ValueId id, int depth) {
    constexpr int kDeepest = 128;
    constexpr std::size_t kMostVisited = std::size_t{1} << 22;
    if (depth > kDeepest || ++visited_ > kMostVisited)
      refuse(path, "its values are nested without an end at");
    const PickledValue& here = value(id);
    switch (here.kind) {
      case PickledKind::none:
        return add_bytes(path, Dtype::uint8, {0}, {});
      case PickledKind::truth:
        return add_bytes(path, Dtype::bool_, {}, std::string(1, static_cast<char>(here.integer)));
      case PickledKind::integer:
        return add_number(path, Dtype::int64, here.integer);
      case PickledKind::real:
        return add_number(path, Dtype::float64, here.real);
      case PickledKind::text:
      case PickledKind::global:
        return add_bytes(path, Dtype::uint8, {static_cast<std::int64_t>(here.text.size())},
                         here.text);
      case PickledKind::sequence:
        for (std::size_t k = 0; k < here.items.size(); ++k)
          add(below(path, fmt::format("{}", k)), here.items[k], depth + 1);
        return;
      case PickledKind::mapping:
        return add_entries(path, here.items, depth);
      case PickledKind::call:
        return add_call(path, here, depth);
      case PickledKind::persistent:
        return add_storage(path, here);
    }
  }

  [[nodiscard]] static std::string below(const std::string& path, const std::string& key) {
    return path.empty() ? key : path + "." + key;
  }

  void add_entries(const std::string& path, const std::vector<ValueId>& entries, int depth) {
    for (std::size_t k = 0; k + 1 < entries.size(); k += 2)
      add(below(path, key_text(path, entries[k])), entries[k + 1], depth + 1);
  }

  [[nodiscard]] std::string key_text(const std::string& path, ValueId id) const {
    const PickledValue& key = value(id);
    switch (key.kind) {
      case PickledKind::text:
        return key.text;
      case PickledKind::integer:
      case PickledKind::truth:
        return fmt::format("{}", key.integer);
      case PickledKind::real:
        return fmt::format("{}", key.real);
      default:
        refuse(path, "a key is neither text nor a number in");
    }
  }

  /// A key or index of a call's arguments.
  [[nodiscard]] ValueId argument(const std::string& path, const PickledValue& call,
                                 std::size_t number) const {
    const PickledValue& arguments = value(call.items.at(1));
    if (number >= arguments.items.size()) refuse(path, "an argument is missing for");
    return arguments.items[number];
  }

  void add_call(const std::string& path, const PickledValue& call, int depth) {
    const std::string& function = value(call.items.at(0)).text;
    if (function == "collections.OrderedDict") {
      // Its arguments are those of its constructor: none, or a list of pairs.
      if (!value(call.items.at(1)).items.empty()) add(path, call.items.at(1), depth + 1);
      return add_entries(path, call.entries, depth);
    }
    if (is_script_class(function)) {
      if (!call.state.empty()) add(path, call.state.front(), depth + 1);
      return;
    }
    if (function == "torch._utils._rebuild_sparse_tensor")
      return add(path, argument(path, call, 1), depth + 1);
    if (returns_first(function)) return add(path, argument(path, call, 0), depth + 1);
    if (function.starts_with("torch._utils._rebuild_tensor")) return add_tensor(path, call);
    refuse(path, fmt::format("{} is called for", function));
  }

  [[nodiscard]] Storage storage(const std::string& path, const PickledValue& from) const {
    if (from.kind != PickledKind::persistent) refuse(path, "there is no storage for");
    const PickledValue& which = value(from.items.at(0));
    if (which.kind != PickledKind::sequence || which.items.size() < 5 ||
        value(which.items[0]).text != "storage" ||
        value(which.items[1]).kind != PickledKind::global ||
        value(which.items[2]).kind != PickledKind::text)
      refuse(path, "there is no storage for");
    const auto dtype = storage_dtype(value(which.items[1]).text);
    if (!dtype) refuse(path, "there is no storage for");
    const std::string member = storages_ + value(which.items[2]).text;
    const ZipMember* const found = archive_->find(member);
    if (found == nullptr) refuse(path, fmt::format("'{}' is missing, which holds", member));
    return {found, *dtype};
  }

  [[nodiscard]] std::vector<std::int64_t> sizes(const std::string& path, ValueId id) const {
    const PickledValue* list = &value(id);
    if (list->kind == PickledKind::call && returns_first(value(list->items.at(0)).text))
      list = &value(argument(path, *list, 0));
    if (list->kind != PickledKind::sequence) refuse(path, "there is no shape for");
    std::vector<std::int64_t> result;
    for (const ValueId item : list->items) {
      if (value(item).kind != PickledKind::integer || value(item).integer < 0)
        refuse(path, "an impossible shape is claimed for");
      result.push_back(value(item).integer);
    }
    return result;
  }

  /// torch._utils._rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks, metadata)
  /// and its likes: v3 has a dtype before the metadata, the oldest nothing after the stride.
  void add_tensor(const std::string& path, const PickledValue& call) {
    const Storage from = storage(path, value(argument(path, call, 0)));
    const bool has_dtype = value(call.items.at(0)).text.ends_with("_v3");
    StoredTensor tensor{.name = path, .dtype = from.dtype, .shape = {}, .unreadable = {}};
    if (has_dtype) {
      const std::string& spelling = value(argument(path, call, 6)).text;
      const auto dtype = dtype_in_torch(spelling);
      if (!dtype || element_size(*dtype) == 0)
        return tensors_.add_unreadable(
            path, fmt::format("has the dtype {}, which is not read", spelling));
      tensor.dtype = *dtype;
    }
    if (is_lazy(call, has_dtype ? 7 : 6))
      return tensors_.add_unreadable(path, "is the conjugate or the negative of what is stored");
    tensor.shape = sizes(path, argument(path, call, 2));
    const PickledValue& offset = value(argument(path, call, 1));
    std::uint64_t first = 0;
    if (offset.kind != PickledKind::integer || offset.integer < 0 ||
        __builtin_mul_overflow(static_cast<std::uint64_t>(offset.integer),
                               element_size(tensor.dtype), &first))
      refuse(path, "an impossible place is claimed for");
    Placement placement{.source = source(*from.member),
                        .offset = first,
                        .strides = sizes(path, argument(path, call, 3)),
                        .order = order_};
    tensors_.add(std::move(tensor), std::move(placement));
  }

  /// A view that says conj or neg leaves that to whoever reads it.
  [[nodiscard]] bool is_lazy(const PickledValue& call, std::size_t number) const {
    const PickledValue& arguments = value(call.items.at(1));
    if (number >= arguments.items.size()) return false;
    const PickledValue& metadata = value(arguments.items[number]);
    for (std::size_t k = 1; k < metadata.items.size(); k += 2)
      if (value(metadata.items[k]).integer != 0) return true;
    return false;
  }

  void add_storage(const std::string& path, const PickledValue& from) {
    const Storage stored = storage(path, from);
    const auto elements =
        static_cast<std::int64_t>(stored.member->bytes / element_size(stored.dtype));
    tensors_.add({.name = path, .dtype = stored.dtype, .shape = {elements}, .unreadable = {}},
                 {.source = source(*stored.member), .offset = 0, .strides = {1}, .order = order_});
  }

  [[nodiscard]] std::shared_ptr<const Source> source(const ZipMember& member) {
    auto& known = sources_[member.index];
    if (!known) known = member_of(archive_, member);
    return known;
  }

  template <class Number>
  void add_number(const std::string& path, Dtype dtype, Number number) {
    std::string bytes(sizeof(number), '\0');
    std::memcpy(bytes.data(), &number, sizeof(number));
    add_bytes(path, dtype, {}, std::move(bytes));
  }
  void add_bytes(const std::string& path, Dtype dtype, std::vector<std::int64_t> shape,
                 std::string bytes) {
    Placement placement{.source = memory_source(std::move(bytes)),
                        .offset = 0,
                        .strides = row_major(shape),
                        .order = std::endian::native};
    tensors_.add(
        {.name = path, .dtype = dtype, .shape = std::move(shape), .plain = true, .unreadable = {}},
        std::move(placement));
  }

  std::shared_ptr<const ZipArchive> archive_;
  std::string folder_;
  std::string storages_;
  StoredTensors& tensors_;
  PickledValues values_;
  std::endian order_ = std::endian::little;
  std::map<std::uint64_t, std::shared_ptr<const Source>> sources_;
  std::size_t visited_ = 0;
};

/// The folder of the pickle, with its '/'.
[[nodiscard]] std::optional<std::string> folder_of(const ZipArchive& archive) {
  for (const ZipMember& member : archive.members()) {
    const std::string_view name = member.name;
    if (!name.ends_with(kPickle)) continue;
    const std::string_view folder = name.substr(0, name.size() - kPickle.size());
    if (folder.empty() || folder.find('/') == folder.size() - 1) return std::string(folder);
  }
  return std::nullopt;
}

}  // namespace

bool is_torch_archive(const ZipArchive& archive) { return folder_of(archive).has_value(); }

std::unique_ptr<TensorFile> open_torch_archive(std::shared_ptr<const ZipArchive> archive) {
  const std::string folder = folder_of(*archive).value();
  const bool is_script = archive->find(folder + std::string(kConstants)) != nullptr;
  auto tensors =
      std::make_unique<StoredTensors>(archive->path(), is_script ? "torchscript" : "pytorch");
  PickledTensors(archive, folder, kPickle, *tensors).add_all("");
  if (is_script) PickledTensors(archive, folder, kConstants, *tensors).add_all("constants");
  return tensors;
}

}  // namespace ulpscope::tensors
