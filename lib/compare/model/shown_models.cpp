#include "compare/model/shown_models.hpp"

#include <algorithm>

#include "compare/model/hash.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] std::uint64_t key(std::string_view root, std::string_view name) {
  return KeyHash().add(root).add(name).value();
}

/// Null if that root has not shown it.
template <class Models>
[[nodiscard]] auto* find(Models& models, std::string_view root, std::string_view name) {
  using Tensor = decltype(&models.begin()->second.tensors.begin()->second);
  const auto model = models.find(root);
  if (model == models.end()) return Tensor(nullptr);
  const auto tensor = model->second.tensors.find(name);
  return tensor == model->second.tensors.end() ? nullptr : &tensor->second;
}

}  // namespace

void ShownModels::passed(const Event& event) {
  if (event.kind == EventKind::parameters) {
    for (const Slot& slot : event.slots) {
      if (seen_.insert(key(event.root, slot.name)).second) show(event, slot);
      hold(event, slot);
    }
  } else if (event.kind == EventKind::module && event.has_module) {
    if (seen_.insert(KeyHash().add(event.root).add(event.module).add(event.module_type).value())
            .second)
      models_[std::string(event.root)].module_types.try_emplace(std::string(event.module),
                                                                event.module_type);
  }
}

void ShownModels::show(const Event& event, const Slot& slot) {
  if (slot.geometry == nullptr || slot.name.empty() || event.op == kFreedParameters) return;
  models_[std::string(event.root)].tensors.try_emplace(
      std::string(slot.name),
      ShownTensor{.dtype = slot.geometry->dtype,
                  .shape = slot.geometry->sizes,
                  .requires_grad = (slot.flags & slot_flag::requires_grad) != 0,
                  .latest = {}});
  const auto [named, first] =
      named_.try_emplace(slot.storage, Named{std::string(event.root), std::string(slot.name)});
  if (!first && named->second.name != slot.name) named->second.name.clear();
}

void ShownModels::hold(const Event& event, const Slot& slot) {
  if (event.op == kFreedParameters) return;
  auto* const tensor = find(models_, event.root, slot.name);
  if (tensor == nullptr) return;
  tensor->latest.reset();
  if (slot.geometry != nullptr && !(slot.flags & slot_flag::no_digest))
    tensor->latest = {slot.digest, slot.geometry->strides};
}

std::optional<ShownTensor::Held> ShownModels::latest(std::string_view root,
                                                     std::string_view name) const {
  const ShownTensor* const tensor = find(models_, root, name);
  return tensor == nullptr ? std::nullopt : tensor->latest;
}

std::uint64_t ShownModels::count_with_tensors() const noexcept {
  return static_cast<std::uint64_t>(
      std::count_if(models_.begin(), models_.end(),
                    [](const auto& model) { return !model.second.tensors.empty(); }));
}

bool ShownModels::contain(std::string_view root, std::string_view name) const {
  return seen_.contains(key(root, name));
}

const ShownModels::Named* ShownModels::of_storage(std::uint64_t storage) const {
  const auto named = named_.find(storage);
  return named == named_.end() || named->second.name.empty() ? nullptr : &named->second;
}

std::string_view ShownModels::name_of(std::uint64_t storage) const {
  const Named* const known = of_storage(storage);
  return known == nullptr ? std::string_view() : known->name;
}

std::string_view ShownModels::root_of(std::uint64_t storage) const {
  const Named* const known = of_storage(storage);
  return known == nullptr ? std::string_view() : known->root;
}

}  // namespace ulpscope::comparison
