#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory_resource>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "capture/boundary_links.hpp"
#include "capture/geometry_cache.hpp"
#include "capture/geometry_table.hpp"
#include "capture/memory.hpp"
#include "capture/online_alignment.hpp"
#include "capture/op_info.hpp"
#include "capture/recorder.hpp"
#include "capture/rng.hpp"
#include "capture/running_modules.hpp"
#include "capture/storage_table.hpp"
#include "ring/message.hpp"
#include "ulpscope/statistics.hpp"

namespace ulpscope::capture {

/// An argument that an op writes: read again when the op ends.
struct WrittenArgument {
  c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> tensor;
  std::uint16_t index = 0;
  std::uint16_t element = 0;
  std::size_t slot = kNoSlot;  ///< of Thread::slots: what the op's kernel has left in it

  static constexpr std::size_t kNoSlot = ~std::size_t{0};
};

/// A value at one time: the memory, how often it was written, how it is viewed.
struct ValueKey {
  std::uint64_t storage = ring::kNone;
  std::uint32_t writes = 0;
  std::uint32_t geometry = 0;

  friend bool operator==(const ValueKey&, const ValueKey&) = default;
};

/// What a reference run has where an op of the program runs (injection.hpp).
struct ReferenceCall {
  std::uint64_t number = ring::kNone;  ///< kNone: nothing
  std::uint64_t passed = 0;            ///< of the calls inside of it
  bool same_inputs = false;            ///< the op reads what it read there
};

/// A thread's outermost ops, or those of its backward, and the reference's.
struct ReferenceLane {
  std::pmr::vector<std::uint64_t> calls{&process_memory()};  ///< the outermost ones
  std::optional<OnlineAlignment> alignment;  ///< with those; empty: none is known yet
};

/// A call of one of the modules that the program defines (module_calls.hpp).
struct ModuleCall {
  std::uint64_t position = ring::kNone;  ///< of its event
  std::uint64_t begin = 0;               ///< in moments of its thread
  std::uint64_t end = 0;                 ///< 0 while it is open
  RunningModule found;
  std::pmr::vector<ValueKey> given{&process_memory()};
  std::pmr::vector<ring::SlotRow> inputs{&process_memory()};  ///< of the values given
  std::pmr::vector<ValueKey> returned{&process_memory()};
};

/// Something that has begun on this thread and not yet ended.
struct Frame {
  std::uint64_t handle = 0;  ///< RecordFunction's, 0 for a frame of Ulpscope's
  const OpInfo* info = nullptr;
  std::uint64_t position = ring::kNone;  ///< kNone: a frame that is not an event
  std::uint64_t forward = ring::kNone;
  std::uint64_t object = 0;
  std::uint64_t epoch = 0;
  std::uint64_t first_storage = 0;  ///< storages with this id or more were made inside
  std::uint64_t first_node = 0;     ///< autograd nodes with this number or more were made inside
  RngFingerprint rng_before;
  c10::Device rng_device{c10::DeviceType::CPU};
  std::uint32_t forward_lane = 0;
  std::uint32_t module = 0;
  std::uint32_t stack = 0;  ///< id of its call site
  std::uint32_t flags = 0;
  std::uint16_t depth = 0;
  std::uint16_t threads = 0;
  int rank_in_group = -1;      ///< this process's among those of a collective, if known
  bool trusted = false;        ///< library code runs between the ops directly inside: no user code
  bool inside_op = false;      ///< an op encloses it
  bool from_stack = false;     ///< a call of a module that the program defines
  bool by_wrapper = false;     ///< a call of what stands for the module, which may call that next
  bool delivers = false;       ///< fills what a collective has promised
  bool arrives_later = false;  ///< what it writes comes from a device and is not waited for
  bool traced = false;         ///< an op that computes nothing: a program is traced
  bool implied = false;        ///< an op that the one around it implies
  ReferenceCall in_reference;
  std::size_t slots = 0;      ///< where its slots begin
  std::size_t arguments = 0;  ///< where its encoded arguments begin
  std::size_t written = 0;    ///< where its written arguments begin
  c10::weak_intrusive_ptr<c10::GeneratorImpl> generator{c10::intrusive_ptr<c10::GeneratorImpl>()};
};

/// One thread's side of the recording: its lane's ring, what has begun, what the ring knows.
/// Belongs to its thread; reached by current().
class Thread {
 public:
  /// The calling thread's, opened at its first use. Null if nothing can be recorded: recording
  /// is off, the thread is ending, or a hook of ours is already running on it.
  [[nodiscard]] static Thread* current() noexcept;

  /// The calling thread's, if it has one and no hook of ours runs on it. Never opens one.
  [[nodiscard]] static Thread* opened() noexcept;

  /// Closes the calling thread's lane normally: what it does from now on is not recorded. A lane
  /// that was not closed means to the writer that its thread was killed.
  static void close_current() noexcept;
  /// The same for a recording that ends while the thread continues: it can take part in a later
  /// one.
  static void leave_current() noexcept;

  Thread(OpenedRing opened, std::uint64_t generation);

  [[nodiscard]] std::uint32_t lane() const noexcept { return lane_; }

  std::pmr::vector<Frame> frames;
  std::pmr::vector<ring::SlotRow> slots;
  std::pmr::vector<std::byte> arguments;
  std::pmr::vector<WrittenArgument> written;
  std::pmr::vector<std::byte> packed;                ///< scratch for strided content
  std::array<std::byte, 64 << 10> argument_scratch;  ///< arguments of the current event
  std::uint64_t next_position = 0;
  std::uint64_t ended_at = ring::kNone;  ///< where it has sent the outcomes of the run
  std::uint64_t epoch = 0;               ///< what was checked in it is still so
  std::uint64_t moment = 0;        ///< counts what the program's code calls: inside or outside
  bool look_at_settings = true;    ///< the program may have changed some since they were sent
  std::uint32_t first_module = 0;  ///< the first one that ran inside no other
  RunningModules running;
  std::pmr::vector<ModuleCall> open_calls;   ///< of modules that the program defines
  std::pmr::deque<ModuleCall> closed_calls;  ///< the latest, in the order in which they ended
  std::pmr::vector<std::pair<BoundaryLinks::Key, Boundary>> crossed;  ///< scratch
  std::pmr::vector<const at::Tensor*> read;                           ///< scratch
  CallStack call_stack;                                               ///< scratch
  std::pmr::vector<ring::StackFrame> stack_frames;                    ///< scratch
  std::pmr::unordered_map<std::uint64_t, std::uint32_t> stack_ids;    ///< by hash of the frames
  std::pmr::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> made_in_step;  ///< of an optimizer
  std::pmr::vector<std::uint8_t> wanted_ops;      ///< what the filter said, by OpInfo::index
  std::pmr::vector<std::uint8_t> wanted_modules;  ///< likewise, by module
  std::pmr::vector<std::uint8_t> full_ops;        ///< likewise: whether an op's bytes are kept
  bool in_full_op = false;                        ///< what is seen now belongs to such an op
  std::uint32_t changing_modules = 0;  ///< calls that give modules other tensors, `to()`, under way
  std::pmr::vector<FreedBlock> freed;  ///< by the program, since its last outermost op
  bool freed_watched = false;          ///< likewise, memory that is watched
  std::uint64_t saves = 0;             ///< events `torch::save`
  std::pmr::vector<const void*>* saved = nullptr;  ///< where their memory is listed, if anywhere
  std::uint32_t compilers = 0;  ///< at work: the ops that they call are not the program's
  std::array<ReferenceLane, 2> in_reference;  ///< outside of backward, and in it
  bool in_engine = false;  ///< the last outermost thing that ran was the autograd engine's

  /// Bytes that all threads have digested again to verify inputs.
  static std::atomic<std::uint64_t> verified_bytes;

  /// Ids in this thread's ring, defined there at their first use.
  [[nodiscard]] std::uint32_t string(std::uint32_t name);
  /// The name id of "layer1.weight.grad", given that of "layer1.weight".
  [[nodiscard]] std::uint32_t name_of_gradient(std::uint32_t parameter);
  [[nodiscard]] std::uint32_t op(const OpInfo& info);
  [[nodiscard]] std::uint32_t geometry(const at::Tensor& tensor);
  /// All that follows from the geometry; null if that is not kept. It has a storage then. Valid
  /// until the next call.
  [[nodiscard]] const KnownGeometry* known_geometry(const at::Tensor& tensor);
  /// Of so many contiguous elements, in host memory.
  [[nodiscard]] std::uint32_t row_geometry(std::int8_t dtype, std::int64_t elements);

  [[nodiscard]] std::uint32_t define_stack(std::span<const ring::StackFrame> frames);

  /// Sends one event; takes what the rows say from `row`, sizes and ids of its parts excepted.
  void send_event(ring::EventRow row, std::span<const ring::SlotRow> slots,
                  std::span<const std::byte> arguments);
  /// Sends a value's bytes, unless this ring has lately carried the same.
  void send_content(const Digest& digest, std::span<const std::byte> bytes);
  /// Statistics of a value, unless this ring has lately carried the same.
  void send_statistics(const Digest& digest, Dtype dtype, std::span<const std::byte> bytes);
  void send_statistics(const Digest& digest, Dtype dtype, const Statistics& found);
  /// The digest for a ticket.
  void send_resolved(std::uint64_t ticket, const Digest& digest, const Digest& logical, bool failed,
                     bool no_content);
  void send_environment(std::string_view key, std::string_view value);
  /// How the thread was created, if known.
  void send_creation();
  void send_notice(std::string_view sentence, bool fatal);

  /// Marks the thread as inside a hook for as long as it lives: Ulpscope's own ops are not
  /// recorded.
  class Inside {
   public:
    explicit Inside(Thread& thread) noexcept : thread_(thread) { thread_.inside_ = true; }
    ~Inside() { thread_.inside_ = false; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Thread& thread_;
  };

 private:
  [[nodiscard]] std::uint32_t number(const Geometry& geometry);
  void define_geometry(std::uint32_t id, const Geometry& geometry);
  /// Space for a message; null if it is rejected. Recording stops when the ring has ended.
  [[nodiscard]] std::byte* room(std::uint32_t size);
  std::uint32_t define_string(std::string_view text);
  /// Whether this ring has lately carried the statistics of that value; from now on it has.
  [[nodiscard]] bool was_sent(const Digest& digest, Dtype dtype);
  void send_statistics_message(const Digest& digest, Dtype dtype, const Statistics& found);

  ring::Producer ring_;
  std::uint32_t lane_ = 0;
  std::uint64_t generation_ = 0;
  bool inside_ = false;
  std::uint32_t strings_ = 0;
  std::uint32_t ops_ = 0;
  std::uint32_t stacks_ = 0;
  std::pmr::vector<std::uint32_t> string_ids_;  ///< by process-wide name id
  std::pmr::vector<std::uint32_t> op_ids_;      ///< by OpInfo::index
  std::pmr::vector<std::uint32_t> gradients_;   ///< their names, by the parameter's
  GeometryTable geometry_ids_;
  GeometryCache geometries_;
  std::array<Digest, 4096> sent_{};  ///< contents this ring has lately carried
};

}  // namespace ulpscope::capture
