#include "tensors/torch_pickle.hpp"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tensors/memory_source.hpp"
#include "tensors/refuse.hpp"

namespace ulpscope::tensors {
namespace {

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

/// The values of a pickle, as tensors.
class PickledTensors {
 public:
  PickledTensors(const PickledValues& values, const TorchStorages& storages, StoredTensors& tensors)
      : values_(values), storages_(storages), tensors_(tensors) {}

  void add_all(const std::string& path) { add(path, values_.root(), 0); }

 private:
  [[noreturn]] void refuse(const std::string& path, std::string_view what) const {
    damaged(tensors_.path(), fmt::format("{} '{}'", what, path));
  }

  [[nodiscard]] const PickledValue& value(ValueId id) const { return values_.at(id); }

  void add(const std::string& path, ValueId id, int depth) {
    constexpr int kDeepest = 128;
    constexpr std::size_t kMostVisited = std::size_t{1} << 22;
    constexpr std::size_t kMostText = std::size_t{256} << 20;
    const PickledValue& here = value(id);
    text_ += path.size() + here.text.size();  // each visit makes copies of them
    if (depth > kDeepest || ++visited_ > kMostVisited || text_ > kMostText)
      refuse(path, "its values are nested without an end at");
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

  struct Storage {
    std::shared_ptr<const Source> source;
    TorchStorage what;
  };
  [[nodiscard]] Storage storage(const std::string& path, const PickledValue& from) const {
    auto what = torch_storage(values_, from);
    if (!what) refuse(path, "there is no storage for");
    auto source = storages_.find(what->key);
    if (!source) refuse(path, fmt::format("the storage '{}' is missing, which holds", what->key));
    return {std::move(source), *std::move(what)};
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
    Storage from = storage(path, value(argument(path, call, 0)));
    const bool has_dtype = value(call.items.at(0)).text.ends_with("_v3");
    StoredTensor tensor{.name = path, .dtype = from.what.dtype, .shape = {}, .unreadable = {}};
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
    if (offset.kind != PickledKind::integer) refuse(path, "an impossible place is claimed for");
    Placement placement{
        .source = std::move(from.source),
        .offset = place(path, from.what.first, offset.integer, element_size(tensor.dtype)),
        .strides = sizes(path, argument(path, call, 3)),
        .order = storages_.order};
    tensors_.add(std::move(tensor), std::move(placement));
  }

  /// Of an element of a view, in bytes of the storage.
  [[nodiscard]] std::uint64_t place(const std::string& path, std::int64_t first,
                                    std::int64_t offset, std::size_t element) const {
    std::int64_t index = 0;
    std::uint64_t bytes = 0;
    if (first < 0 || offset < 0 || __builtin_add_overflow(first, offset, &index) ||
        __builtin_mul_overflow(static_cast<std::uint64_t>(index), element, &bytes))
      refuse(path, "an impossible place is claimed for");
    return bytes;
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
    Storage stored = storage(path, from);
    const std::size_t element = element_size(stored.what.dtype);
    const std::uint64_t before = place(path, stored.what.first, 0, element);
    const std::uint64_t there = stored.source->size();
    const auto elements = static_cast<std::int64_t>((there - std::min(before, there)) / element);
    tensors_.add({.name = path, .dtype = stored.what.dtype, .shape = {elements}, .unreadable = {}},
                 {.source = std::move(stored.source),
                  .offset = before,
                  .strides = {1},
                  .order = storages_.order});
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

  const PickledValues& values_;
  const TorchStorages& storages_;
  StoredTensors& tensors_;
  std::size_t visited_ = 0;
  std::size_t text_ = 0;  ///< bytes of names and texts of those
};

}  // namespace

PickledValues read_torch_pickle(std::string_view bytes, const std::filesystem::path& file) {
  try {
    return read_pickle(bytes.substr(0, kLargestPickle), is_allowed);
  } catch (const PickleRefused& refused) {
    const std::string_view or_larger =
        bytes.size() > kLargestPickle ? ", or larger than 64 MB" : "";
    unsupported(file, fmt::format("its pickle {}{}", refused.why(), or_larger),
                "pickles are read, never executed; save tensors alone: "
                "torch.save(model.state_dict(), FILE)");
  }
}

std::optional<TorchStorage> torch_storage(const PickledValues& values,
                                          const PickledValue& persistent) {
  if (persistent.kind != PickledKind::persistent) return std::nullopt;
  const PickledValue& which = values.at(persistent.items.at(0));
  const auto item = [&](std::size_t number) -> const PickledValue& {
    return values.at(which.items.at(number));
  };
  if (which.kind != PickledKind::sequence || which.items.size() < 5 || item(0).text != "storage" ||
      item(1).kind != PickledKind::global || item(2).kind != PickledKind::text)
    return std::nullopt;
  const auto dtype = storage_dtype(item(1).text);
  if (!dtype) return std::nullopt;
  TorchStorage storage{item(2).text, *dtype};
  // The key of a view of it, where it begins, and its size.
  if (which.items.size() > 5 && item(5).kind == PickledKind::sequence) {
    const PickledValue& view = item(5);
    if (view.items.size() != 3 || values.at(view.items[1]).kind != PickledKind::integer)
      return std::nullopt;
    storage.first = values.at(view.items[1]).integer;
  }
  return storage;
}

void add_pickled_tensors(const PickledValues& values, const std::string& path,
                         const TorchStorages& storages, StoredTensors& tensors) {
  PickledTensors(values, storages, tensors).add_all(path);
}

}  // namespace ulpscope::tensors
