#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ulpscope/digest.hpp"
#include "ulpscope/dtype.hpp"
#include "ulpscope/statistics.hpp"

/// One recorded run as the comparison sees it: ranks, their lanes, blocks of events. A dump on disk
/// and a run built by a test both implement `Run`.
namespace ulpscope {

inline constexpr std::uint64_t kNone = ~std::uint64_t{0};  ///< no event, no storage
inline constexpr std::int64_t kSetup = -1;  ///< the "step" before the first root forward

enum class EventKind : std::uint8_t {
  op = 1,     ///< a dispatcher op
  node = 2,   ///< an autograd node running in backward
  scope = 3,  ///< a named range: RECORD_FUNCTION, TorchScript method, user scope
  /// The forward of a module. Slots: its tensor arguments and what it returned; of a module whose
  /// call cannot be seen, what was read inside that came from outside, in the order of first reads,
  /// and what is known to have left it.
  module = 4,
  gradient = 5,   ///< AccumulateGrad: a parameter gradient was accumulated
  optimizer = 6,  ///< an optimizer's step
  zero_grad = 7,  ///< zero_grad of a module or an optimizer
  step = 8,       ///< the program called step()
  /// A value that left the forward of the module at `forward` and was read outside it, if that was
  /// not known yet when the forward ended. Slots: outputs, by index.
  module_output = 9,
  /// Backward crossed the boundary of the module's call at `forward`. Slots: gradients with respect
  /// to its outputs (Role::input, index of the output) or its inputs (Role::output, index of the
  /// input).
  module_gradient = 10,
  /// A root's current parameters and buffers: before its first forward and after each
  /// optimizer step. Slots: Role::input, with names.
  parameters = 11,
  kernel = 12,  ///< a kernel was launched on a GPU, by the op around it
  /// Memory that a thread has freed after its last op ("end of thread"), or that is live when the
  /// program or its recording ends ("end of run"), or what no op has shown of that when a process
  /// of a pool has done a task ("end of task"). Slots: Role::input, a storage each, as one row of
  /// elements. Of a run or task, with event_flag::seeded, the default generator's state too.
  outcome = 13,
};

enum class Phase : std::uint8_t { setup, data, forward, backward, optimizer, eval };
[[nodiscard]] std::string_view name(Phase phase) noexcept;

/// Which logical thread a lane is: a trainer runs its own forward, backward and optimizers next to
/// the main thread. Backward events are reported under `autograd` whichever thread ran them.
enum class LaneRole : std::uint8_t { main, autograd, worker, thread, trainer };

/// What an event's state was; bits of Event::flags.
namespace event_flag {
inline constexpr std::uint32_t grad_mode = 1U << 0;
inline constexpr std::uint32_t inference_mode = 1U << 1;
inline constexpr std::uint32_t in_backward = 1U << 2;   ///< inside the autograd engine
inline constexpr std::uint32_t in_optimizer = 1U << 3;  ///< inside an optimizer's step
inline constexpr std::uint32_t autocast = 1U << 4;
inline constexpr std::uint32_t flush_denormal = 1U << 5;
inline constexpr std::uint32_t threw = 1U << 6;   ///< the op ended by an exception
inline constexpr std::uint32_t seeded = 1U << 7;  ///< may draw from a generator; rng_* are set
inline constexpr std::uint32_t explicit_generator = 1U << 8;
inline constexpr std::uint32_t deterministic = 1U << 9;  ///< deterministic algorithms were on
inline constexpr std::uint32_t module_from_parameter =
    1U << 10;                                          ///< module named by a parameter it read
inline constexpr std::uint32_t unfinished = 1U << 11;  ///< the program ended inside it
inline constexpr std::uint32_t view = 1U << 12;        ///< returns views, reads no content
inline constexpr std::uint32_t factory = 1U << 13;     ///< returns uninitialized memory
inline constexpr std::uint32_t not_deterministic =
    1U << 14;  ///< LibTorch itself says that its result may differ every time
/// Autocast to another 16-bit dtype than by default: to float16 on a CPU, to bfloat16 on a GPU.
inline constexpr std::uint32_t autocast_other = 1U << 15;
}  // namespace event_flag

/// The op of an event that writes memory to an archive, which is no op of LibTorch.
inline constexpr std::string_view kSave = "torch::save";

/// The op of an event that gives the program values of another run (`record --inject`). Slots: what
/// was written, Role::mutated.
inline constexpr std::string_view kInject = "ulpscope::inject";

/// The op of an event of kind `parameters` that lists what the program has freed.
inline constexpr std::string_view kFreedParameters = "freed parameters";

/// What is known of one tensor of an event; bits of Slot::flags.
namespace slot_flag {
inline constexpr std::uint32_t undefined = 1U << 0;  ///< an undefined tensor
inline constexpr std::uint32_t no_digest = 1U << 1;  ///< not hashed (view, opaque, not readable)
inline constexpr std::uint32_t view = 1U << 2;       ///< an output that aliases an input
inline constexpr std::uint32_t uninitialised =
    1U << 3;  ///< memory that no recorded op wrote (all or part)
inline constexpr std::uint32_t changed =
    1U << 4;  ///< differs from its last recorded write: written outside the dispatcher
inline constexpr std::uint32_t unproduced = 1U << 5;  ///< no recorded op wrote it before this read
inline constexpr std::uint32_t verified = 1U << 6;    ///< hashed again at this read
inline constexpr std::uint32_t parameter = 1U << 7;
inline constexpr std::uint32_t buffer = 1U << 8;
inline constexpr std::uint32_t gradient = 1U << 9;  ///< a parameter's gradient
inline constexpr std::uint32_t requires_grad = 1U << 10;
inline constexpr std::uint32_t wrapped_number = 1U
                                                << 11;  ///< a number that is passed as 0-dim tensor
inline constexpr std::uint32_t handle = 1U << 12;       ///< bytes are a pointer: never compared
inline constexpr std::uint32_t opaque = 1U << 13;       ///< no storage that can be read
inline constexpr std::uint32_t overwritten =
    1U << 14;  ///< an argument that is only written: not an input
inline constexpr std::uint32_t scratch = 1U << 15;        ///< an output whose bytes mean nothing
inline constexpr std::uint32_t has_content = 1U << 16;    ///< its bytes were recorded
inline constexpr std::uint32_t logical = 1U << 17;        ///< `logical_digest` is set
inline constexpr std::uint32_t metadata_only = 1U << 18;  ///< an argument whose content is not read
inline constexpr std::uint32_t optimizer_state =
    1U << 19;  ///< an outcome that an optimizer keeps from step to step
inline constexpr std::uint32_t freed = 1U << 20;  ///< an outcome that was freed before the end
}  // namespace slot_flag

namespace geometry_flag {
inline constexpr std::uint16_t conj = 1U << 0;
inline constexpr std::uint16_t neg = 1U << 1;
inline constexpr std::uint16_t dense = 1U << 2;       ///< non-overlapping, no gaps
inline constexpr std::uint16_t contiguous = 1U << 3;  ///< row-major
inline constexpr std::uint16_t sparse = 1U << 4;
inline constexpr std::uint16_t quantised = 1U << 5;
inline constexpr std::uint16_t inference = 1U << 6;
}  // namespace geometry_flag

struct Geometry {
  Dtype dtype = Dtype::undefined;
  std::uint8_t device_type = 0;  ///< as c10::DeviceType: 0 cpu, 1 cuda
  std::int8_t device_index = -1;
  std::uint8_t layout = 0;  ///< as c10::Layout: 0 strided, 1 sparse
  std::uint16_t flags = 0;
  std::int64_t storage_offset = 0;  ///< elements
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  ///< elements; empty if the layout has none
};

enum class Role : std::uint8_t { input, output, mutated };
[[nodiscard]] std::string_view name(Role role) noexcept;

struct Slot {
  Role role = Role::input;
  std::uint16_t index = 0;    ///< argument index (input, mutated) or return index (output)
  std::uint16_t element = 0;  ///< index inside a tensor list, else 0
  std::uint32_t flags = 0;
  Digest digest;                  ///< memory order; zero with slot_flag::no_digest
  Digest logical_digest;          ///< logical order, with slot_flag::logical
  std::uint64_t storage = kNone;  ///< identity of the memory, unique in the run, never reused
  std::uint32_t writes = 0;       ///< recorded writes to that storage so far
  std::uint64_t writer = kNone;   ///< position of the event that last wrote what is read here
  std::uint32_t writer_lane = 0;
  std::uint8_t alignment = 0;          ///< data pointer modulo 64
  const Geometry* geometry = nullptr;  ///< null with slot_flag::undefined
  std::string_view name;  ///< "layer1.conv1.weight", "fc.bias.grad"; empty if it has no name
};

/// Argument of an op that is not a tensor, in the schema's spelling.
struct Argument {
  std::uint16_t index = 0;
  bool result = false;  ///< a returned scalar (`item`), not an argument
  std::string_view name;
  std::string text;  ///< "1e-05", "[1, 1]", "float32", "None"
};

/// A generator's state around a seeded op.
struct RngState {
  std::uint64_t seed = 0;
  Digest before;
  Digest after;
};

struct Event {
  std::uint64_t position = 0;     ///< order of its start in its lane, from 0 over the whole run
  std::uint64_t parent = kNone;   ///< position of the event it runs inside, in the same lane
  std::uint64_t forward = kNone;  ///< node: position of the forward op that made it
  std::uint32_t forward_lane = 0;
  /// Which module, optimizer, group of ranks or generator of the program, numbered from 1.
  std::uint64_t object = 0;
  EventKind kind = EventKind::op;
  Phase phase = Phase::setup;
  std::uint16_t depth = 0;
  std::uint16_t threads = 0;  ///< intra-op threads
  std::uint32_t flags = 0;
  std::string_view op;              ///< "aten::addmm", "AddmmBackward0", "SGD::step"
  std::string_view overload;        ///< "Tensor"; empty for the default one
  std::string_view argument_names;  ///< the schema's, joined by ','
  std::string_view return_names;    ///< the same for returns; empty names where it has none
  std::string_view root;
  std::string_view module;  ///< dotted path; meaningful only with has_module
  std::string_view module_type;
  bool has_module = false;
  std::string_view stack;  ///< calls in the program, innermost first: "train.cpp:41 main", a line
                           ///< each; empty if stacks were not recorded
  RngState rng;            ///< with event_flag::seeded
  std::span<const Slot> slots;
  std::span<const std::byte> argument_bytes;  ///< see arguments()
};

/// Decodes an event's arguments. Damaged bytes give what could be decoded.
[[nodiscard]] std::vector<Argument> arguments(const Event& event);

/// The events of one lane in one step (long steps: one part of it), by position.
struct Block {
  std::int64_t step = kSetup;
  std::uint32_t lane = 0;
  std::vector<Event> events;
  std::shared_ptr<const void> storage;  ///< owns what the events' views refer to
};

struct Lane {
  std::uint32_t id = 0;
  LaneRole role = LaneRole::main;
  std::uint32_t ordinal = 0;  ///< among the lanes of its role
  std::string thread_name;
  std::uint64_t events = 0;
  std::string created_by;  ///< calls of the program that created its thread, innermost first:
                           ///< "train+11a0 train+1003"; empty if unknown
};

/// Who a rank is, according to its recording. Numbers are those of Run::ranks().
struct RankIdentity {
  bool known = false;      ///< false: not recorded; a rank is its number
  std::string declared;    ///< the variable that says which rank the process is; empty: none does
  std::uint32_t rank = 0;  ///< what it says
  std::uint32_t restart = 0;             ///< processes that were this rank before
  std::optional<std::uint32_t> creator;  ///< the rank that created it, if any
  std::uint32_t order = 0;  ///< of its creation, among the undeclared ranks of that creator
  /// False if that order says nothing: several threads created them side by side, or their creator
  /// had ended before they began to compute.
  bool order_counts = true;
};

struct EnvironmentEntry {
  std::int64_t step = kSetup;  ///< from which step on it holds
  std::string key;
  std::string value;
};

struct RunInfo {
  std::string path;
  std::vector<std::string> command;
  std::string level;  ///< "digest", "stats", "full"
  bool complete = false;
  std::string incomplete_reason;
  std::vector<std::string> notes;  ///< what its recording left out on purpose, a sentence each
  std::optional<int> exit_code;    ///< of the command, 128 + signal where one ended it; empty: not
                                   ///< known, or of a run of which a part is selected
  std::uint32_t ranks = 0;
  std::uint64_t steps = 0;         ///< recorded
  std::uint64_t steps_in_run = 0;  ///< that the program has begun, recorded or not; 0: not known
  std::uint64_t events = 0;
  std::uint64_t values = 0;
};

/// A value of the layer tree: an input or output of a layer, a gradient, a parameter.
struct LayerValue {
  std::int64_t step = kSetup;
  std::string path;   ///< "steps/000003/forward/layer1.conv1/0/output.0"
  Digest digest;      ///< of its content, which is in row-major order with expanded dimensions
                      ///< repeated
  Geometry geometry;  ///< of the value in memory
};

/// The recorded bytes of a value, packed in memory order, from front to back.
class ContentReader {
 public:
  ContentReader() = default;
  ContentReader(const ContentReader&) = delete;
  ContentReader& operator=(const ContentReader&) = delete;
  virtual ~ContentReader() = default;

  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
  /// Fills `piece` with the next bytes.
  /// @throws Error with ErrorCode::corrupt if there are fewer, and at the last piece if the bytes
  /// do not have the value's digest.
  virtual void read(std::span<std::byte> piece) = 0;
};

class Run {
 public:
  Run() = default;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  virtual ~Run() = default;

  [[nodiscard]] virtual const RunInfo& info() const = 0;
  /// Rank numbers, ascending.
  [[nodiscard]] virtual std::vector<std::uint32_t> ranks() const = 0;
  [[nodiscard]] virtual std::vector<Lane> lanes(std::uint32_t rank) const = 0;
  [[nodiscard]] virtual RankIdentity identity(std::uint32_t /*rank*/) const { return {}; }
  /// By step and key; what a key was set to within one step in that order.
  [[nodiscard]] virtual std::vector<EnvironmentEntry> environment(std::uint32_t rank) const = 0;
  /// Blocks of a lane in order of position; steps never decrease.
  [[nodiscard]] virtual std::size_t block_count(std::uint32_t rank, std::uint32_t lane) const = 0;
  /// @throws Error with ErrorCode::corrupt if the dump is inconsistent.
  [[nodiscard]] virtual Block block(std::uint32_t rank, std::uint32_t lane,
                                    std::size_t index) const = 0;
  /// The recorded bytes of a value, packed in memory order; empty if they are not in the run.
  /// @throws Error with ErrorCode::corrupt if the bytes do not have that digest.
  [[nodiscard]] virtual std::optional<std::vector<std::byte>> content(
      std::uint32_t rank, const Digest& digest) const = 0;
  /// The same, piece by piece; null if they are not in the run.
  [[nodiscard]] virtual std::unique_ptr<ContentReader> open_content(std::uint32_t rank,
                                                                    const Digest& digest) const;
  /// How many bytes content() would return, without reading them.
  [[nodiscard]] virtual std::optional<std::uint64_t> content_size(std::uint32_t rank,
                                                                  const Digest& digest) const {
    const auto bytes = content(rank, digest);
    return bytes ? std::optional<std::uint64_t>(bytes->size()) : std::nullopt;
  }
  /// Values of the layer tree, by path; none if bytes were not recorded. A path can come twice
  /// if a step is in two segments.
  [[nodiscard]] virtual std::vector<LayerValue> layer_values(std::uint32_t /*rank*/) const {
    return {};
  }
  /// Of a value with that digest and dtype; empty if the run was recorded without.
  [[nodiscard]] virtual std::optional<Statistics> statistics(std::uint32_t /*rank*/,
                                                             const Digest& /*digest*/,
                                                             Dtype /*dtype*/) const {
    return std::nullopt;
  }
};

}  // namespace ulpscope
