#include "capture/module_names.hpp"

#include <torch/nn/module.h>

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

#include "capture/memory.hpp"
#include "capture/recorder.hpp"
#include "capture/storage_table.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::capture {
namespace {

struct Known {
  const void* type_table = nullptr;  ///< the object's vtable: tells classes apart
  std::uint32_t module = 0;
  bool is_root = false;
};

struct Registry {
  std::mutex mutex;
  std::pmr::unordered_map<const void*, Known> by_address{&process_memory()};
  std::pmr::deque<ModuleName> names{&process_memory()};
  std::pmr::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> by_name{&process_memory()};
  std::pmr::unordered_map<std::pmr::string, std::uint32_t> roots_of_type{&process_memory()};
};

Registry& registry() {
  static Registry& instance = immortal<Registry>();
  return instance;
}

const void* type_table_of(const void* object) { return *static_cast<const void* const*>(object); }

/// "ResNet" of "(anonymous namespace)::ResNetImpl".
std::string_view class_name(std::string_view full) {
  const std::size_t arguments = full.find('<');
  const std::size_t scope = full.rfind("::", arguments);
  if (scope != std::string_view::npos) full.remove_prefix(scope + 2);
  full = full.substr(0, full.find('<'));
  if (full.ends_with("Impl") && full.size() > 4) full.remove_suffix(4);
  return full;
}

std::uint32_t number_of(Registry& all, const ModuleName& name) {
  const auto [found, added] = all.by_name.try_emplace(
      std::pair(name.root, name.path), static_cast<std::uint32_t>(all.names.size() + 1));
  if (added)
    all.names.push_back(name);
  else
    all.names[found->second - 1].type = name.type;
  return found->second;
}

void tie(const at::Tensor& tensor, const std::string& name, std::uint32_t flag,
         std::uint32_t module) {
  if (!tensor.defined() || !tensor.has_storage()) return;
  const std::uint32_t id = name_id(name);
  const std::lock_guard guard(storages());
  Storage& storage = storages().at(*tensor.storage().unsafeGetStorageImpl());
  storage.name = id;
  storage.name_flags = flag;
  storage.module = module;
}

void walk(Registry& all, const torch::nn::Module& module, std::uint32_t root,
          const std::string& path, bool is_root) {
  const ModuleName name{
      .path = name_id(path), .root = root, .type = name_id(class_name(module.name()))};
  const std::uint32_t number = number_of(all, name);
  all.by_address[&module] = {type_table_of(&module), number, is_root};
  const std::string prefix = path.empty() ? "" : path + ".";
  for (const auto& item : module.named_parameters(/*recurse=*/false))
    tie(item.value(), prefix + item.key(), slot_flag::parameter, number);
  for (const auto& item : module.named_buffers(/*recurse=*/false))
    tie(item.value(), prefix + item.key(), slot_flag::buffer, number);
  for (const auto& item : module.named_children())
    walk(all, *item.value(), root, prefix + item.key(), false);
}

std::uint32_t root_name(Registry& all, const torch::nn::Module& module, std::string_view given) {
  const std::string_view type = given.empty() ? class_name(module.name()) : given;
  const std::uint32_t count = ++all.roots_of_type[std::pmr::string(type, &process_memory())];
  std::string name(type);
  if (count > 1) name += "#" + std::to_string(count);
  return name_id(name);
}

}  // namespace

void learn_module(const torch::nn::Module& module, std::string_view name) {
  Registry& all = registry();
  const std::lock_guard guard(all.mutex);
  const auto known = all.by_address.find(&module);
  const bool same =
      known != all.by_address.end() && known->second.type_table == type_table_of(&module);
  if (same && !known->second.is_root && name.empty()) return;
  const bool keeps_name = same && known->second.is_root && name.empty();
  const std::uint32_t root =
      keeps_name ? all.names[known->second.module - 1].root : root_name(all, module, name);
  walk(all, module, root, "", true);
}

std::uint32_t module_at(const void* address) {
  Registry& all = registry();
  const std::lock_guard guard(all.mutex);
  const auto known = all.by_address.find(address);
  if (known == all.by_address.end() || known->second.type_table != type_table_of(address)) return 0;
  return known->second.module;
}

std::uint32_t module_named(std::string_view path) {
  const std::uint32_t wanted = name_id(path);
  Registry& all = registry();
  const std::lock_guard guard(all.mutex);
  for (std::size_t i = all.names.size(); i > 0; --i)
    if (all.names[i - 1].path == wanted) return static_cast<std::uint32_t>(i);
  return 0;
}

ModuleName module_name(std::uint32_t module) {
  Registry& all = registry();
  const std::lock_guard guard(all.mutex);
  return all.names.at(module - 1);
}

bool is_below(std::uint32_t inner, std::uint32_t outer) {
  const ModuleName in = module_name(inner);
  const ModuleName out = module_name(outer);
  if (in.root != out.root || in.path == out.path) return false;
  const std::string_view inner_path = name_of(in.path);
  const std::string_view outer_path = name_of(out.path);
  return outer_path.empty() ||
         (inner_path.starts_with(outer_path) && inner_path.size() > outer_path.size() &&
          inner_path[outer_path.size()] == '.');
}

void lock_module_names() { registry().mutex.lock(); }
void unlock_module_names() { registry().mutex.unlock(); }

}  // namespace ulpscope::capture
