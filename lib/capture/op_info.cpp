#include "capture/op_info.hpp"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "capture/collective_table.hpp"
#include "capture/memory.hpp"
#include "facts/ops.hpp"

namespace ulpscope::capture {
namespace detail {
std::atomic<bool> collective_known{false};
}

namespace {

struct Registry {
  std::mutex mutex;
  std::uint32_t count = 0;
  std::pmr::unordered_map<std::pmr::string, const OpInfo*> named{&process_memory()};
};

Registry& registry() {
  static Registry& instance = immortal<Registry>();
  return instance;
}

/// Op infos by the address of the schema's own name string, which is distinct for each overload.
/// Open addressing, filled under the registry's lock, read without one.
class SchemaCache {
 public:
  [[nodiscard]] const OpInfo* find(const char* name) const noexcept {
    for (std::size_t i = slot(name), probes = 0; probes < kProbes; i = (i + 1) % kSize, ++probes) {
      const char* key = entries_[i].key.load(std::memory_order_acquire);
      if (key == nullptr) return nullptr;
      if (key == name) return entries_[i].info;
    }
    return nullptr;
  }

  void insert(const char* name, const OpInfo* info) noexcept {
    for (std::size_t i = slot(name), probes = 0; probes < kProbes; i = (i + 1) % kSize, ++probes) {
      if (entries_[i].key.load(std::memory_order_relaxed) != nullptr) continue;
      entries_[i].info = info;
      entries_[i].key.store(name, std::memory_order_release);
      return;
    }
  }

 private:
  static constexpr std::size_t kSize = 1 << 14;
  static constexpr std::size_t kProbes = 32;
  struct Entry {
    std::atomic<const char*> key{nullptr};
    const OpInfo* info = nullptr;
  };

  static std::size_t slot(const char* name) noexcept {
    return (reinterpret_cast<std::uintptr_t>(name) * 0x9e3779b97f4a7c15ULL) >> 50;
  }

  std::array<Entry, kSize> entries_;
};

SchemaCache& schema_cache() {
  static SchemaCache& instance = immortal<SchemaCache>();
  return instance;
}

/// The infos of records and events that are not ops, by their names. Read without a lock; an info
/// that another one has replaced is found in the registry.
class NameCache {
 public:
  [[nodiscard]] const OpInfo* find(EventKind kind, std::string_view name,
                                   std::string_view argument_names) const noexcept {
    const OpInfo* const known = entries_[slot(kind, name)].load(std::memory_order_acquire);
    const bool is_it = known != nullptr && known->kind == kind && known->name == name &&
                       known->argument_names == argument_names;
    return is_it ? known : nullptr;
  }

  void insert(const OpInfo& info) noexcept {
    entries_[slot(info.kind, info.name)].store(&info, std::memory_order_release);
  }

 private:
  static constexpr std::size_t kSize = 1 << 12;

  /// Of the name's beginning, end and length.
  static std::size_t slot(EventKind kind, std::string_view name) noexcept {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    const std::size_t part = std::min(name.size(), sizeof first);
    std::memcpy(&first, name.data(), part);
    std::memcpy(&last, name.data() + name.size() - part, part);
    std::uint64_t hash = first * 0x9e3779b97f4a7c15ULL + name.size();
    hash = (hash ^ (hash >> 32) ^ last) * 0xff51afd7ed558ccdULL + static_cast<std::uint64_t>(kind);
    return (hash * 0x9e3779b97f4a7c15ULL) >> 52;
  }

  std::array<std::atomic<const OpInfo*>, kSize> entries_{};
};

NameCache& name_cache() {
  static NameCache& instance = immortal<NameCache>();
  return instance;
}

bool can_hold_tensors(const c10::Type& type) {
  if (type.kind() == c10::TypeKind::TensorType) return true;
  const auto contained = type.containedTypes();
  return std::any_of(contained.begin(), contained.end(),
                     [](const c10::TypePtr& inner) { return can_hold_tensors(*inner); });
}

bool has_type(const c10::Argument& argument, c10::TypeKind kind) {
  const c10::Type* type = argument.real_type().get();
  if (const auto* optional = type->castRaw<c10::OptionalType>())
    type = optional->getElementType().get();
  return type->kind() == kind;
}

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

/// Its schema says that it writes its first argument, but it only changes what that refers to
/// (`set_data`, `requires_grad_`).
bool rearranges_first(const c10::FunctionSchema& schema, const facts::Op& op) {
  return op.has(facts::fact::rearranges) && !schema.arguments().empty() &&
         is_written(schema.arguments().front());
}

/// The op uses only the argument's shape, dtype or device.
bool reads_metadata_only(const facts::Op& op, std::size_t argument) {
  if (argument == 0) return op.has(facts::fact::self_is_metadata | facts::fact::factory);
  return argument == 1 && op.has(facts::fact::other_is_metadata);
}

/// Has its own kernel, but computes only through the ops it calls (`clone`, `zeros`,
/// `convolution`): its result has been digested when the inner op ended.
bool computes_through_ops(const facts::Op& op, std::string_view overload) {
  if (op.is_foreach()) return false;
  if (overload == "Scalar" && op.has(facts::fact::wraps_number)) return true;
  return op.has(facts::fact::wrapper) && !op.is_in_place() &&
         overload.find("out") == std::string_view::npos;
}

Access access_of(const c10::FunctionSchema& schema, std::size_t index, const OpInfo& info) {
  const c10::Argument& argument = schema.arguments()[index];
  if (!can_hold_tensors(*argument.type())) return Access::none;
  if (info.rearranges) return Access::metadata;
  if (const auto access = collective_access(info.name, index)) return *access;
  const facts::Op op(info.name);
  if (is_written(argument)) {
    const bool out = argument.kwarg_only() || argument.is_out();
    const bool fills = index == 0 && op.is_in_place() && op.has(facts::fact::overwrites_self);
    return out || fills ? Access::overwritten : Access::written;
  }
  if (info.foreign || op.row().writes_undeclared(index)) return Access::written;
  return (info.flags & event_flag::view) != 0 || reads_metadata_only(op, index) ? Access::metadata
                                                                                : Access::read;
}

/// A view op returns aliases of its input and computes nothing; ops such as `contiguous` return
/// an alias or a copy, and count as readers.
bool is_view(const c10::FunctionSchema& schema) {
  if (schema.returns().empty() || facts::Op(schema.name()).has(facts::fact::may_copy)) return false;
  return std::all_of(schema.returns().begin(), schema.returns().end(), [](const auto& returned) {
    return returned.alias_info() != nullptr && !returned.alias_info()->isWrite();
  });
}

void join(std::pmr::string& names, const std::vector<c10::Argument>& arguments) {
  for (const c10::Argument& argument : arguments) {
    if (&argument != arguments.data()) names += ',';
    names.append(argument.name().data(), argument.name().size());
  }
}

void describe(OpInfo& info, const c10::OperatorHandle& handle) {
  const c10::FunctionSchema& schema = handle.schema();
  info.name = schema.name();
  info.overload = schema.overload_name();
  join(info.argument_names, schema.arguments());
  join(info.return_names, schema.returns());
  info.seeded = handle.hasTag(at::Tag::nondeterministic_seeded);
  info.handle = info.name.starts_with("profiler::");
  if (is_view(schema)) info.flags |= event_flag::view;
  const facts::Op op(info.name);
  if (op.has(facts::fact::factory)) info.flags |= event_flag::factory;
  info.adopts = op.has(facts::fact::adopts);
  info.copies = info.name == "aten::copy_";
  info.keeps_rest = op.is_in_place() && op.has(facts::fact::keeps_rest);
  info.converts = op.has(facts::fact::casts) && !info.copies;
  info.resolves = info.name == "aten::resolve_conj" || info.name == "aten::resolve_neg";
  info.resizes = info.name.starts_with("aten::resize_") || info.name == "aten::_resize_output_";
  info.rearranges =
      info.resizes || handle.hasTag(at::Tag::inplace_view) || rearranges_first(schema, op);
  info.foreign = !facts::is_of_libtorch(info.name);
  info.exchange = info.name.starts_with("c10d::");
  info.collective = is_collective(info.name);
  if (info.collective) detail::collective_known.store(true, std::memory_order_relaxed);
  info.waits = waits_for_tensor(info.name);
  info.barrier = is_barrier(info.name);
  info.wrapper = (!info.foreign &&
                  handle.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
                  !handle.hasKernelForDispatchKey(c10::DispatchKey::CPU)) ||
                 computes_through_ops(op, info.overload) || wraps_collective(info.name);
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    ArgumentInfo& described = info.arguments.emplace_back();
    described.access = access_of(schema, i, info);
    described.undeclared =
        !info.collective && described.access == Access::written && !is_written(argument);
    described.dtype = has_type(argument, c10::TypeKind::ScalarTypeType);
    described.layout = has_type(argument, c10::TypeKind::LayoutType);
    described.memory_format = has_type(argument, c10::TypeKind::MemoryFormatType);
    info.writes |= described.access == Access::written || described.access == Access::overwritten;
  }
  for (std::size_t i = 0; i < schema.returns().size(); ++i)
    info.scratch_returns.push_back(op.row().is_unspecified(i));
}

const OpInfo& named_info_locked(Registry& all, EventKind kind, std::string_view name,
                                std::string_view argument_names) {
  std::pmr::string key(&process_memory());
  key += static_cast<char>('0' + static_cast<int>(kind));
  key += name;
  key += '\n';
  key += argument_names;
  if (const auto found = all.named.find(key); found != all.named.end()) return *found->second;
  auto& info = immortal<OpInfo>(&process_memory());
  info.index = ++all.count;
  info.kind = kind;
  info.name = name;
  info.argument_names = argument_names;
  info.engine = kind == EventKind::scope && name.starts_with("autograd::engine::evaluate_function");
  info.user_node = kind == EventKind::node && name.starts_with("torch::autograd::CppNode");
  all.named.emplace(std::move(key), &info);
  return info;
}

EventKind kind_of(const at::RecordFunction& record) {
  if (record.scope() != at::RecordScope::BACKWARD_FUNCTION) return EventKind::scope;
  return std::string_view(record.name()) == "torch::autograd::AccumulateGrad" ? EventKind::gradient
                                                                              : EventKind::node;
}

/// `name` is the schema's own string.
const OpInfo* find_known(const char* name) noexcept {
  const OpInfo* known = schema_cache().find(name);
  return known != nullptr && std::strcmp(known->name.c_str(), name) == 0 ? known : nullptr;
}

const OpInfo* find_registered(const c10::OperatorName& name) {
  const auto handle = c10::Dispatcher::singleton().findSchema(name);
  if (!handle) return nullptr;
  const char* const own_string = handle->schema().name().c_str();
  Registry& all = registry();
  const std::lock_guard guard(all.mutex);
  if (const OpInfo* known = find_known(own_string)) return known;
  auto& info = immortal<OpInfo>(&process_memory());
  info.index = ++all.count;
  describe(info, *handle);
  schema_cache().insert(own_string, &info);
  return &info;
}

}  // namespace

const OpInfo& op_info(const at::RecordFunction& record) {
  const char* name = record.name();
  if (record.scope() == at::RecordScope::FUNCTION) {
    if (const OpInfo* known = find_known(name)) return *known;
    if (const auto operator_name = record.operator_name())
      if (const OpInfo* registered = find_registered(*operator_name)) return *registered;
  }
  return named_info(kind_of(record), name);
}

const OpInfo* op_info(const char* name, const char* overload) {
  return find_registered({name, overload});
}

const OpInfo& named_info(EventKind kind, std::string_view name, std::string_view argument_names) {
  if (const OpInfo* known = name_cache().find(kind, name, argument_names)) return *known;
  Registry& all = registry();
  const std::lock_guard guard(all.mutex);
  const OpInfo& info = named_info_locked(all, kind, name, argument_names);
  name_cache().insert(info);
  return info;
}

const OpInfo& kernel_info(std::string_view name, std::string_view argument_names,
                          const std::vector<ArgumentInfo>& arguments, std::uint32_t flags) {
  Registry& all = registry();
  const std::lock_guard guard(all.mutex);
  auto& info = immortal<OpInfo>(&process_memory());
  info.index = ++all.count;
  info.kind = EventKind::op;
  info.name = name;
  info.argument_names = argument_names;
  info.arguments.assign(arguments.begin(), arguments.end());
  info.flags = flags;
  info.foreign = true;
  info.generated = true;
  info.writes = true;
  return info;
}

void lock_op_info() { registry().mutex.lock(); }
void unlock_op_info() { registry().mutex.unlock(); }

}  // namespace ulpscope::capture
