#include "capture/saved_tensors.hpp"

#include <c10/core/TensorImpl.h>

#include <mutex>

#include "capture/filter.hpp"
#include "capture/frames.hpp"
#include "capture/op_info.hpp"
#include "capture/op_observer.hpp"
#include "capture/recorder.hpp"
#include "capture/step_window.hpp"
#include "capture/storage_table.hpp"
#include "capture/value.hpp"

namespace ulpscope::capture {
namespace {

/// All elements of a storage, of the dtype that was seen last.
at::Tensor tensor_over(c10::intrusive_ptr<c10::StorageImpl> storage, c10::ScalarType dtype) {
  std::size_t size = c10::elementSize(dtype);
  if (size == 0 || storage->nbytes() % size != 0 || c10::isQIntType(dtype)) {
    dtype = c10::ScalarType::Byte;
    size = 1;
  }
  const auto elements = static_cast<std::int64_t>(storage->nbytes() / size);
  auto tensor = c10::make_intrusive<c10::TensorImpl, c10::UndefinedTensorImpl>(
      c10::Storage(std::move(storage)), c10::DispatchKeySet(c10::DispatchKey::CPU),
      c10::scalarTypeToTypeMeta(dtype));
  tensor->set_sizes_contiguous({elements});
  return at::Tensor(std::move(tensor));
}

/// The live storage that begins at `data`; undefined if recorded ops have met none.
at::Tensor find_known_tensor(const void* data) {
  c10::intrusive_ptr<c10::StorageImpl> found;
  auto dtype = c10::ScalarType::Byte;
  const std::lock_guard guard(storages());
  storages().for_each([&](Storage& entry) {
    if (found || entry.data != data || entry.bytes == 0 || entry.handle) return;
    found = entry.alive.lock();
    dtype = static_cast<c10::ScalarType>(entry.dtype);
  });
  return found ? tensor_over(std::move(found), dtype) : at::Tensor();
}

bool is_optimizer_state(const at::Tensor& tensor) {
  const std::lock_guard guard(storages());
  return storages().at(*tensor.storage().unsafeGetStorageImpl()).optimizer_state;
}

}  // namespace

void note_saved(const void* data) noexcept {
  Thread* const thread = Thread::current();
  if (thread == nullptr || data == nullptr || idle() || only_layers()) return;
  const Thread::Inside inside(*thread);
  guarded("saving a tensor", [&] {
    static const OpInfo& info = named_info(EventKind::op, kSave, "storage");
    const at::Tensor tensor = find_known_tensor(data);
    if (!tensor.defined() || thread->compilers > 0) return;
    const std::uint32_t owner = owner_of(tensor);
    if (is_filtered() && !(wants_op(*thread, info) && wants_module(*thread, owner))) return;
    const ValuesOfOp values(*thread, info);
    begin_event(*thread, info, /*object=*/0, /*trusted=*/true);
    const std::size_t frames = thread->frames.size();
    Frame& frame = thread->frames.back();
    frame.flags &= ~event_flag::grad_mode;
    if (owner != 0) frame.module = owner;
    ring::SlotRow row = see_read(*thread, tensor, {Role::input, 0, 0}, /*boundary=*/true).row;
    if (is_optimizer_state(tensor)) row.flags |= slot_flag::optimizer_state;
    thread->slots.push_back(row);
    end_event(*thread, frames, /*threw=*/false);
    ++thread->saves;
    if (thread->saved != nullptr) thread->saved->push_back(data);
  });
}

}  // namespace ulpscope::capture
