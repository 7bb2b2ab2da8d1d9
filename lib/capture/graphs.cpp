#include "capture/graphs.hpp"

#include <c10/core/DispatchKey.h>
#include <c10/core/TensorImpl.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <memory_resource>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "capture/device_backend.hpp"
#include "capture/filter.hpp"
#include "capture/frames.hpp"
#include "capture/memory.hpp"
#include "capture/module_calls.hpp"
#include "capture/op_observer.hpp"
#include "capture/recorder.hpp"
#include "capture/step_window.hpp"
#include "capture/value.hpp"

namespace ulpscope::capture {
namespace {

/// What a captured op read or wrote. The tensor itself is not kept: it may live shorter than its
/// memory.
struct Memory {
  c10::weak_intrusive_ptr<c10::StorageImpl> storage{c10::intrusive_ptr<c10::StorageImpl>()};
  RegionKey key;
  caffe2::TypeMeta dtype;
  std::pmr::vector<std::int64_t> sizes{&process_memory()};
  std::pmr::vector<std::int64_t> strides{&process_memory()};
  std::int64_t offset = 0;
  bool read = false;  ///< before any captured op wrote it
  bool written = false;
};

struct Graph {
  std::uint64_t capture = 0;  ///< the device's number for it during the capture, else 0
  std::pmr::vector<Memory> memory{&process_memory()};
  std::pmr::unordered_multimap<const c10::StorageImpl*, std::size_t> of_storage{&process_memory()};
};

using Graphs = std::pmr::unordered_map<const void*, Graph>;

std::mutex mutex;  ///< of graphs()

/// By the address of their CUDAGraph.
Graphs& graphs() {
  static Graphs& instance = immortal<Graphs>(&process_memory());
  return instance;
}

std::atomic<int> captures_under_way{0};

/// A graph has at most as many slots as their numbers can represent.
constexpr std::size_t kMostMemory = std::numeric_limits<std::uint16_t>::max();

/// The graph that captures the thread's work on a device, null for none. Holding the lock.
Graph* graph_under_way(c10::DeviceIndex device) {
  DeviceBackend* const backend = device_backend();
  const std::uint64_t capture = backend == nullptr ? 0 : backend->capture_of(device);
  if (capture == 0) return nullptr;
  for (auto& [object, graph] : graphs())
    if (graph.capture == capture) return &graph;
  return nullptr;
}

Memory& add(Graph& graph, const at::Tensor& tensor, const Content& content) {
  const c10::Storage& storage = tensor.storage();
  graph.of_storage.emplace(storage.unsafeGetStorageImpl(), graph.memory.size());
  Memory& memory = graph.memory.emplace_back();
  memory.storage = storage.getWeakStorageImpl();
  memory.key = content.key;
  memory.dtype = tensor.dtype();
  memory.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  memory.strides.assign(tensor.strides().begin(), tensor.strides().end());
  memory.offset = tensor.storage_offset();
  return memory;
}

void note(const at::Tensor& tensor, const Content& content, bool writes) {
  if (tensor.numel() == 0) return;
  const std::lock_guard guard(mutex);
  Graph* const graph = graph_under_way(tensor.device().index());
  if (graph == nullptr) return;
  Memory* same = nullptr;
  bool written = false;
  bool covered = false;  // by what is read already
  const auto known = graph->of_storage.equal_range(tensor.storage().unsafeGetStorageImpl());
  for (auto entry = known.first; entry != known.second; ++entry) {
    Memory& memory = graph->memory[entry->second];
    if (memory.key == content.key && memory.dtype == tensor.dtype()) same = &memory;
    written = written || (memory.written && memory.key.overlaps(content.key));
    covered = covered || (memory.read && memory.key.covers(content.key));
  }
  if (!writes && (written || covered)) return;
  if (same == nullptr) {
    if (graph->memory.size() == kMostMemory) return;
    same = &add(*graph, tensor, content);
  }
  (writes ? same->written : same->read) = true;
}

/// A tensor over memory that a graph uses; undefined if that memory is no longer held.
at::Tensor tensor_over(const Memory& memory) {
  const c10::intrusive_ptr<c10::StorageImpl> storage = memory.storage.lock();
  if (!storage || storage->data() == nullptr ||
      storage->nbytes() < memory.key.offset + memory.key.bytes)
    return {};
  const auto key = c10::computeDispatchKey(c10::typeMetaToScalarType(memory.dtype), c10::kStrided,
                                           storage->device());
  auto tensor = c10::make_intrusive<c10::TensorImpl>(c10::Storage(storage),
                                                     c10::DispatchKeySet(key), memory.dtype);
  tensor->set_sizes_and_strides(memory.sizes, memory.strides, memory.offset);
  return at::Tensor(std::move(tensor));
}

struct NumberedTensor {
  at::Tensor tensor;
  std::uint16_t index = 0;
  bool read = false;
};

/// The live part of a graph's memory that it reads, or that it writes. False if its capture was not
/// seen.
bool alive(const void* object, bool written, std::pmr::vector<NumberedTensor>& tensors) {
  const std::lock_guard guard(mutex);
  const auto graph = graphs().find(object);
  if (graph == graphs().end()) return false;
  const auto& all = graph->second.memory;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!(written ? all[i].written : all[i].read)) continue;
    if (at::Tensor tensor = tensor_over(all[i]); tensor.defined())
      tensors.push_back({std::move(tensor), static_cast<std::uint16_t>(i), all[i].read});
  }
  return true;
}

/// Of a graph that was captured and destroyed nothing else says so. Holding the lock.
void forget_what_is_gone() {
  for (auto& [object, graph] : graphs()) {
    if (graph.capture != 0) continue;
    const bool gone = std::all_of(graph.memory.begin(), graph.memory.end(),
                                  [](const Memory& memory) { return memory.storage.expired(); });
    if (!gone) continue;
    graph.memory.clear();
    graph.of_storage.clear();
  }
}

/// Holding the lock.
void forget(const void* object) {
  const auto graph = graphs().find(object);
  if (graph == graphs().end()) return;
  if (graph->second.capture != 0) captures_under_way.fetch_sub(1, std::memory_order_release);
  graphs().erase(graph);
}

/// Reported once per recording.
void tell_unseen(Thread& thread) {
  static std::atomic<std::uint64_t> told_in{0};
  if (told_in.exchange(generation()) == generation()) return;
  thread.send_notice(
      "a CUDA graph is replayed whose capture was not recorded: what it reads and writes is not "
      "known",
      false);
}

}  // namespace

void graph_capture_begins(const void* graph) noexcept {
  guarded("the capture of a graph", [&] {
    const bool wanted = recording() && !idle();
    DeviceBackend* const backend = wanted ? device_backend() : nullptr;
    const std::uint64_t capture =
        backend == nullptr ? 0 : backend->capture_of(backend->current_device());
    const std::lock_guard guard(mutex);
    forget_what_is_gone();
    forget(graph);
    if (capture == 0) return;
    graphs()[graph].capture = capture;
    captures_under_way.fetch_add(1, std::memory_order_release);
  });
}

void graph_capture_ends(const void* graph) noexcept {
  guarded("the end of a capture", [&] {
    const std::lock_guard guard(mutex);
    const auto found = graphs().find(graph);
    if (found == graphs().end() || found->second.capture == 0) return;
    found->second.capture = 0;
    captures_under_way.fetch_sub(1, std::memory_order_release);
  });
}

bool graphs_are_captured() noexcept {
  return captures_under_way.load(std::memory_order_acquire) > 0;
}

void graph_reads(const at::Tensor& tensor, const Content& content) {
  note(tensor, content, /*writes=*/false);
}

void graph_writes(const at::Tensor& tensor, const Content& content) {
  note(tensor, content, /*writes=*/true);
}

GraphReplay::GraphReplay(const void* graph) noexcept
    : graph_(graph), thread_(Thread::current()), exceptions_(std::uncaught_exceptions()) {
  if (thread_ == nullptr || idle()) return;
  const Thread::Inside inside(*thread_);
  guarded("the replay of a graph", [&] {
    const OpInfo& info = named_info(EventKind::op, "CUDAGraph::replay");
    if (only_layers() || (is_filtered() && !wants_op(*thread_, info))) return;
    begin_event(*thread_, info, 0, /*trusted=*/true);
    frames_ = thread_->frames.size();
    ++thread_->moment;
    std::pmr::vector<NumberedTensor> inputs(&process_memory());
    if (!alive(graph_, /*written=*/false, inputs)) tell_unseen(*thread_);
    for (const NumberedTensor& input : inputs)
      thread_->slots.push_back(
          see_read(*thread_, input.tensor, {Role::input, input.index, 0}, /*boundary=*/true).row);
  });
}

GraphReplay::~GraphReplay() {
  if (thread_ == nullptr || idle() || Thread::current() != thread_) return;
  const bool threw = std::uncaught_exceptions() > exceptions_;
  const Thread::Inside inside(*thread_);
  guarded("the end of a replay", [&] {
    std::pmr::vector<NumberedTensor> results(&process_memory());
    (void)alive(graph_, /*written=*/true, results);
    if (frames_ == 0) {
      const Frame* const around = innermost_event(*thread_, thread_->frames.size());
      const Writer writer{around == nullptr ? 0 : around->position, thread_->lane(),
                          thread_->moment};
      for (const NumberedTensor& result : results) note_written(result.tensor, writer);
      return;
    }
    if (thread_->frames.size() < frames_) return;
    close_frames_above(*thread_, frames_);
    const Writer writer{thread_->frames.back().position, thread_->lane(), thread_->moment};
    for (const NumberedTensor& result : results) {
      const Role role = result.read ? Role::mutated : Role::output;
      thread_->slots.push_back(see_written(*thread_, result.tensor, {role, result.index, 0}, writer,
                                           /*already_written=*/false)
                                   .row);
    }
    end_event(*thread_, frames_, threw);
  });
}

void lock_graphs() { mutex.lock(); }
void unlock_graphs() { mutex.unlock(); }

}  // namespace ulpscope::capture
