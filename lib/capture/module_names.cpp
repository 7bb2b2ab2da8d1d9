#include "capture/module_names.hpp"

#include <ATen/core/jit_type.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "capture/given_tensor.hpp"
#include "capture/memory.hpp"
#include "capture/module_classes.hpp"
#include "capture/mutex.hpp"
#include "capture/recorder.hpp"
#include "capture/storage_table.hpp"
#include "capture/value.hpp"
#include "core/module_path.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::capture {
namespace {

struct KnownModule {
  const void* type_table = nullptr;  ///< the object's vtable: distinguishes classes
  std::uint32_t module = 0;
  std::uint64_t walk = 0;
  bool is_root = false;
};

struct Module {
  ModuleName name;
  std::uint32_t root = 0;
  std::uint32_t above = 0;
  std::uintptr_t address = 0;
};

struct Class {
  explicit Class(std::string_view type) : members(type) {}
  ClassMembers members;
  std::pmr::vector<Instance> instances{&process_memory()};
};

using WeakReference = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

struct WeakTensor {
  WeakReference tensor;
  std::uint32_t name = 0;
  std::uint32_t flag = 0;
  std::uint32_t module = 0;
  const at::TensorImpl* released = nullptr;  ///< what it is while nothing may refer to it
};

struct ModuleRegistry {
  Mutex mutex;
  std::uint64_t walks = 0;
  std::pmr::unordered_map<const void*, KnownModule> by_address{&process_memory()};
  std::pmr::deque<Module> modules{&process_memory()};  ///< by number, from 1
  std::pmr::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> by_name{&process_memory()};
  std::pmr::unordered_map<std::pmr::string, std::uint32_t> roots_of_type{&process_memory()};
  std::pmr::deque<Class> classes{&process_memory()};  ///< by number, from 1
  std::pmr::unordered_map<std::string_view, std::uint32_t> class_numbers{&process_memory()};
  std::pmr::map<std::uint32_t, std::pmr::vector<WeakTensor>> state{&process_memory()};
  std::atomic<std::uint32_t> class_count{0};
};

ModuleRegistry& module_registry() {
  static ModuleRegistry& instance = immortal<ModuleRegistry>();
  return instance;
}

const void* type_table_of(const void* object) { return *static_cast<const void* const*>(object); }

/// "ResNet" from "(anonymous namespace)::ResNetImpl".
std::string_view class_name(std::string_view full) {
  const std::size_t arguments = full.find('<');
  const std::size_t scope = full.rfind("::", arguments);
  if (scope != std::string_view::npos) full.remove_prefix(scope + 2);
  full = full.substr(0, full.find('<'));
  if (full.ends_with("Impl") && full.size() > 4) full.remove_suffix(4);
  return full;
}

std::uint32_t number_of(ModuleRegistry& all, const ModuleName& name) {
  const auto [found, added] = all.by_name.try_emplace(
      std::pair(name.root, name.path), static_cast<std::uint32_t>(all.modules.size() + 1));
  if (added) all.modules.emplace_back();
  all.modules[found->second - 1].name = name;
  return found->second;
}

/// The first of a class's modules, by address, that is at `address` or after it.
std::size_t place_of(std::span<const Instance> instances, std::uintptr_t address) {
  const auto found = std::lower_bound(
      instances.begin(), instances.end(), address,
      [](const Instance& instance, std::uintptr_t wanted) { return instance.address < wanted; });
  return static_cast<std::size_t>(found - instances.begin());
}

/// Removes the module at `address` from its classes.
/// @param module 0: any module.
void remove_instance(ModuleRegistry& all, std::uintptr_t address, std::uint32_t module = 0) {
  for (Class& each : all.classes) {
    const std::size_t place = place_of(each.instances, address);
    if (place == each.instances.size() || each.instances[place].address != address) continue;
    if (module == 0 || each.instances[place].module == module)
      each.instances.erase(each.instances.begin() + static_cast<std::ptrdiff_t>(place));
  }
}

/// The former module at its address, and its own former address, are removed.
void add_instance(ModuleRegistry& all, const torch::nn::Module& module, const Instance& instance) {
  remove_instance(all, instance.address);
  remove_instance(all, all.modules[instance.module - 1].address, instance.module);
  for (const std::string_view type : classes_of(typeid(module))) {
    const auto [found, added] =
        all.class_numbers.try_emplace(type, static_cast<std::uint32_t>(all.classes.size() + 1));
    if (added) {
      all.classes.emplace_back(type);
      all.class_count.store(static_cast<std::uint32_t>(all.classes.size()),
                            std::memory_order_relaxed);
    }
    auto& instances = all.classes[found->second - 1].instances;
    const std::size_t place = place_of(instances, instance.address);
    instances.insert(instances.begin() + static_cast<std::ptrdiff_t>(place), instance);
  }
}

void name_memory(const at::Tensor& tensor, const Name& name) {
  if (!tensor.has_storage()) return;
  const RegionKey region = region_of(tensor);
  const std::lock_guard guard(storages());
  const c10::StorageImpl& impl = *tensor.storage().unsafeGetStorageImpl();
  Storage& storage = storages().at(impl);
  storage.dtype = static_cast<std::int8_t>(tensor.scalar_type());
  storages().give_name(storage, impl, region, name);
}

/// Of an object of Python whose tensor has been swapped.
struct Swapped {
  at::Tensor before;
  at::Tensor now;
  std::pmr::vector<Name> names{&process_memory()};  ///< those that the tensor had in its roots
};

/// The memory that it had loses its name. That of a parameter or a buffer is the one of its root's
/// tensor, of which the swapped one may be a view.
void take_names_of_memory(Swapped& swapped) {
  if (!swapped.before.has_storage()) return;
  const RegionKey region = region_of(swapped.before);
  const c10::StorageImpl& impl = *swapped.before.storage().unsafeGetStorageImpl();
  const std::lock_guard guard(storages());
  if (swapped.names.empty()) {
    const Name name = storages().at(impl).name_of(region);
    if ((name.flags & (slot_flag::gradient | slot_flag::optimizer_state)) == 0) return;
    swapped.names.push_back(name);
  }
  storages().take_name(impl, region);
}

/// One walk of a root.
struct Walk {
  ModuleRegistry& all;
  std::uint32_t root_name = 0;
  std::uint32_t root = 0;
  std::pmr::vector<WeakTensor>& state;
  std::pmr::unordered_set<const at::TensorImpl*> met{&process_memory()};

  void tie(const at::Tensor& tensor, const std::string& name, std::uint32_t flag,
           std::uint32_t module) {
    if (!tensor.defined()) return;
    const std::uint32_t id = name_id(name);
    if (!met.insert(tensor.unsafeGetTensorImpl()).second) return;
    state.push_back({.tensor = WeakReference(tensor.getIntrusivePtr()),
                     .name = id,
                     .flag = flag,
                     .module = module});
    name_memory(tensor, {id, flag, module});
  }

  void visit(const torch::nn::Module& module, const std::string& path, std::uint32_t above) {
    KnownModule& known = all.by_address[&module];
    if (known.walk == all.walks) return;
    const auto address = reinterpret_cast<std::uintptr_t>(&module);
    const ModuleName name{
        .path = name_id(path), .root = root_name, .type = name_id(class_name(module.name()))};
    const std::uint32_t number = number_of(all, name);
    if (above == 0) root = number;
    if (above != 0 && known.is_root) all.state.erase(known.module);
    Module& entry = all.modules[number - 1];
    if (entry.address != address || known.module != number ||
        known.type_table != type_table_of(&module))
      add_instance(all, module, {address, number});
    known = {type_table_of(&module), number, all.walks, above == 0};
    entry.root = root;
    entry.above = above;
    entry.address = address;
    const std::string prefix = path.empty() ? "" : path + ".";
    for (const auto& item : module.named_parameters(/*recurse=*/false))
      tie(item.value(), prefix + item.key(), slot_flag::parameter, number);
    for (const auto& item : module.named_buffers(/*recurse=*/false))
      tie(item.value(), prefix + item.key(), slot_flag::buffer, number);
    for (const auto& item : module.named_children())
      visit(*item.value(), prefix + item.key(), number);
  }

  std::uint32_t visit_script(const c10::ivalue::Object& object, const std::string& path,
                             std::uint32_t above) {
    const auto type = object.type();
    const auto type_name = type->name();
    const std::uint32_t number =
        number_of(all, {.path = name_id(path),
                        .root = root_name,
                        .type = name_id(type_name ? type_name->name() : "")});
    if (above == 0) root = number;
    all.by_address[&object] = {type_table_of(&object), number, all.walks, above == 0};
    Module& entry = all.modules[number - 1];
    entry.root = root;
    entry.above = above;
    const std::string prefix = path.empty() ? "" : path + ".";
    for (std::size_t i = 0; i < type->numAttributes(); ++i) {
      const c10::IValue& value = object.getSlot(i);
      const std::string name = prefix + type->getAttributeName(i);
      if (value.isTensor() && type->is_parameter(i))
        tie(value.toTensor(), name, slot_flag::parameter, number);
      else if (value.isTensor() && type->is_buffer(i))
        tie(value.toTensor(), name, slot_flag::buffer, number);
      else if (value.isModule())
        visit_script(value.toObjectRef(), name, number);
    }
    return number;
  }
};

std::uint32_t name_of_root(ModuleRegistry& all, std::string_view base) {
  const std::uint32_t count = ++all.roots_of_type[std::pmr::string(base, &process_memory())];
  std::string name(base);
  if (count > 1) name += "#" + std::to_string(count);
  return name_id(name);
}

}  // namespace

void learn_module(const torch::nn::Module& module, std::string_view name) {
  ModuleRegistry& all = module_registry();
  const std::lock_guard guard(all.mutex);
  const auto known = all.by_address.find(&module);
  const bool same =
      known != all.by_address.end() && known->second.type_table == type_table_of(&module);
  if (same && !known->second.is_root && name.empty()) return;
  const bool keeps_name = same && known->second.is_root && name.empty();
  const std::uint32_t root =
      keeps_name ? all.modules[known->second.module - 1].name.root
                 : name_of_root(all, name.empty() ? class_name(module.name()) : name);
  ++all.walks;
  std::pmr::vector<WeakTensor> state(&process_memory());
  Walk walk{.all = all, .root_name = root, .state = state};
  walk.visit(module, "", 0);
  all.state[walk.root] = std::move(state);
}

std::uint32_t learn_script_module(const c10::ivalue::Object& module) {
  ModuleRegistry& all = module_registry();
  const std::lock_guard guard(all.mutex);
  const auto known = all.by_address.find(&module);
  const bool same =
      known != all.by_address.end() && known->second.type_table == type_table_of(&module);
  if (same && !known->second.is_root) return known->second.module;
  const auto type_name = module.type()->name();
  const std::uint32_t root = same ? all.modules[known->second.module - 1].name.root
                                  : name_of_root(all, type_name ? type_name->name() : "");
  ++all.walks;
  std::pmr::vector<WeakTensor> state(&process_memory());
  Walk walk{.all = all, .root_name = root, .state = state};
  const std::uint32_t number = walk.visit_script(module, "", 0);
  all.state[walk.root] = std::move(state);
  return number;
}

std::vector<std::uint32_t> learn_described(const DescribedRoot& root) {
  ModuleRegistry& all = module_registry();
  std::vector<at::Tensor> tensors;  // released when the registry is not locked any more
  for (const DescribedRoot::Tensor& each : root.tensors)
    tensors.push_back(given_tensor(each.tensor));
  const std::lock_guard guard(all.mutex);
  const std::uint32_t name =
      root.known_as != 0
          ? all.modules.at(root.known_as - 1).name.root
          : name_of_root(all, root.name.empty() ? root.modules.front().type : root.name);
  std::pmr::vector<WeakTensor> state(&process_memory());
  Walk walk{.all = all, .root_name = name, .state = state};
  std::vector<std::uint32_t> numbers;
  for (const DescribedRoot::Module& each : root.modules) {
    const std::uint32_t number =
        number_of(all, {.path = name_id(each.path), .root = name, .type = name_id(each.type)});
    numbers.push_back(number);
    all.modules[number - 1].root = numbers.front();
    all.modules[number - 1].above = numbers.size() == 1 ? 0 : numbers.at(each.above);
  }
  for (std::size_t i = 0; i < tensors.size(); ++i)
    walk.tie(tensors[i], root.tensors[i].name, root.tensors[i].flag,
             numbers.at(root.tensors[i].module));
  all.state[numbers.front()] = std::move(state);
  return numbers;
}

void forget_root(std::uint32_t module) {
  ModuleRegistry& all = module_registry();
  const std::lock_guard guard(all.mutex);
  all.state.erase(module);
}

void begin_swap(const at::TensorImpl* first, const at::TensorImpl* second) {
  ModuleRegistry& all = module_registry();
  const std::lock_guard guard(all.mutex);
  for (auto& [root, state] : all.state)
    for (WeakTensor& each : state) {
      const at::TensorImpl* const tensor = each.tensor._unsafe_get_target();
      if (tensor != first && tensor != second) continue;
      each.released = tensor;
      each.tensor.reset();
    }
}

void end_swap(const at::TensorImpl* first, const at::TensorImpl* second,
              const at::TensorImpl* first_now, const at::TensorImpl* second_now) {
  ModuleRegistry& all = module_registry();
  std::array<Swapped, 2> both;  // released when the registry is not locked any more
  both[0].before = given_tensor(first);
  both[1].before = given_tensor(second);
  if (first_now != nullptr) both[0].now = given_tensor(first_now);
  if (second_now != nullptr) both[1].now = given_tensor(second_now);
  const std::lock_guard guard(all.mutex);
  for (auto& [root, state] : all.state)
    for (WeakTensor& each : state) {
      if (each.released == nullptr) continue;
      for (Swapped& swapped : both) {
        if (each.released != swapped.before.unsafeGetTensorImpl()) continue;
        each.tensor = swapped.now.getIntrusivePtr();
        swapped.names.push_back({each.name, each.flag, each.module});
        each.released = nullptr;
        break;
      }
    }
  if (first == first_now) return;
  for (Swapped& swapped : both) take_names_of_memory(swapped);
  for (const Swapped& swapped : both)
    for (const Name& name : swapped.names) name_memory(swapped.now, name);
}

void renew_names() {
  ModuleRegistry& all = module_registry();
  std::pmr::vector<std::pair<at::Tensor, Name>> held(&process_memory());
  const std::lock_guard guard(all.mutex);
  for (const auto& [root, state] : all.state)
    for (const WeakTensor& each : state)
      if (auto tensor = each.tensor.lock(); tensor && tensor->has_storage())
        held.emplace_back(at::Tensor(std::move(tensor)), Name{each.name, each.flag, each.module});
  for (const auto& [tensor, name] : held) {
    const std::lock_guard storages_guard(storages());
    storages().take_name(*tensor.storage().unsafeGetStorageImpl(), region_of(tensor));
  }
  for (const auto& [tensor, name] : held) name_memory(tensor, name);
}

std::uint32_t module_at(const void* address) {
  ModuleRegistry& all = module_registry();
  const std::lock_guard guard(all.mutex);
  const auto known = all.by_address.find(address);
  if (known == all.by_address.end() || known->second.type_table != type_table_of(address)) return 0;
  return known->second.module;
}

std::uint32_t module_named(std::string_view path) {
  const std::uint32_t wanted = name_id(path);
  ModuleRegistry& all = module_registry();
  const std::lock_guard guard(all.mutex);
  for (std::size_t i = all.modules.size(); i > 0; --i)
    if (all.modules[i - 1].name.path == wanted) return static_cast<std::uint32_t>(i);
  return 0;
}

ModuleName module_name(std::uint32_t module) {
  ModuleRegistry& all = module_registry();
  const std::lock_guard guard(all.mutex);
  return all.modules.at(module - 1).name;
}

std::uint32_t root_of(std::uint32_t module) {
  ModuleRegistry& all = module_registry();
  const std::lock_guard guard(all.mutex);
  return all.modules.at(module - 1).root;
}

bool is_below(std::uint32_t inner, std::uint32_t outer) {
  const ModuleName in = module_name(inner);
  const ModuleName out = module_name(outer);
  if (in.root != out.root || in.path == out.path) return false;
  return core::is_below(name_of(in.path), name_of(out.path));
}

ModuleClass class_of_function(std::string_view function) {
  ModuleRegistry& all = module_registry();
  const std::lock_guard guard(all.mutex);
  for (std::size_t i = 0; i < all.classes.size(); ++i)
    if (all.classes[i].members.contain(function))
      return {static_cast<std::uint32_t>(i + 1), all.classes[i].members.name_of(function)};
  return {};
}

std::uint32_t known_classes() noexcept {
  return module_registry().class_count.load(std::memory_order_relaxed);
}

void visit_instances(std::uint32_t module_class,
                     c10::function_ref<void(std::span<const Instance>)> visit) {
  ModuleRegistry& all = module_registry();
  const std::lock_guard guard(all.mutex);
  visit(all.classes.at(module_class - 1).instances);
}

std::uint32_t instance_at(std::span<const Instance> instances, std::uintptr_t address) {
  const std::size_t place = place_of(instances, address);
  const bool stands = place < instances.size() && instances[place].address == address;
  return stands ? instances[place].module : 0;
}

Instance above_of_class(std::uint32_t module, std::uint32_t module_class) {
  ModuleRegistry& all = module_registry();
  const std::lock_guard guard(all.mutex);
  const auto& instances = all.classes.at(module_class - 1).instances;
  for (std::uint32_t above = all.modules.at(module - 1).above; above != 0;
       above = all.modules[above - 1].above) {
    const std::uintptr_t address = all.modules[above - 1].address;
    if (instance_at(instances, address) == above) return {address, above};
  }
  return {};
}

bool is_called_by_its_class(std::uint32_t module, std::uint32_t module_class) {
  static const std::uint32_t sequential = name_id("Sequential");
  ModuleRegistry& all = module_registry();
  const std::lock_guard guard(all.mutex);
  const auto& instances = all.classes.at(module_class - 1).instances;
  for (std::uint32_t above = all.modules.at(module - 1).above; above != 0;
       above = all.modules[above - 1].above) {
    const Module& each = all.modules[above - 1];
    if (each.name.type == sequential) return false;
    if (instance_at(instances, each.address) == above) return true;
  }
  return false;
}

std::pmr::vector<NamedTensor> state_of(std::uint32_t root) {
  ModuleRegistry& all = module_registry();
  std::pmr::vector<WeakTensor> known(&process_memory());
  {
    const std::lock_guard guard(all.mutex);
    const auto found = all.state.find(root);
    if (found != all.state.end()) known = found->second;
  }
  std::pmr::vector<NamedTensor> state(&process_memory());
  for (const WeakTensor& each : known)
    if (const auto alive = each.tensor.lock())
      state.push_back({at::Tensor(alive), each.name, each.flag, each.module});
  return state;
}

std::pmr::vector<std::uint32_t> known_roots() {
  ModuleRegistry& all = module_registry();
  const std::lock_guard guard(all.mutex);
  std::pmr::vector<std::uint32_t> roots(&process_memory());
  for (const auto& [root, state] : all.state) roots.push_back(root);
  return roots;
}

void lock_module_names() { module_registry().mutex.lock(); }
void unlock_module_names() { module_registry().mutex.unlock(); }

}  // namespace ulpscope::capture
