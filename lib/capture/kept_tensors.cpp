#include "capture/kept_tensors.hpp"

#include <mutex>
#include <vector>

#include "capture/given_tensor.hpp"
#include "capture/memory.hpp"
#include "capture/recorder.hpp"
#include "capture/storage_table.hpp"
#include "capture/value.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::capture {
namespace {

void forget_gradient_names_of(Storage& storage) {
  std::pmr::vector<RegionKey> regions(&process_memory());
  if (storage.parts.empty() && storage.name.flags & slot_flag::gradient)
    regions.push_back(storage.named);
  for (const NamedPart& part : storage.parts)
    if (part.name.flags & slot_flag::gradient) regions.push_back(part.region);
  for (const RegionKey& region : regions) storage.take_name(region);
}

}  // namespace

void forget_gradient_names() {
  const std::lock_guard guard(storages());
  storages().for_each(forget_gradient_names_of);
}

void name_kept(const at::TensorImpl* tensor, std::string_view name, std::uint32_t flag,
               std::uint32_t module) {
  const at::Tensor kept = given_tensor(tensor);
  if (!kept.defined() || !kept.has_storage()) return;
  const std::uint32_t id = name_id(name);
  const RegionKey region = region_of(kept);
  const c10::StorageImpl& impl = *kept.storage().unsafeGetStorageImpl();
  const std::lock_guard guard(storages());
  Storage& storage = storages().at(impl);
  if (storage.name_of(region).flags & (slot_flag::parameter | slot_flag::buffer)) return;
  storages().give_name(storage, impl, region, {id, flag, module});
  storage.optimizer_state = storage.optimizer_state || (flag & slot_flag::optimizer_state) != 0;
}

}  // namespace ulpscope::capture
