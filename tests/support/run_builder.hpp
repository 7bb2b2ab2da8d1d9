#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/argument_writer.hpp"
#include "ulpscope/run.hpp"

/// Runs without a dump: a program is told op by op, and the builder keeps the dataflow (storages,
/// writes, writers, generator states) as a recorder would.
namespace ulpscope::test {

/// The numbers of a new tensor and its shape; row-major.
struct Values {
  Values(std::initializer_list<double> list) : Values(std::vector<double>(list)) {}
  explicit Values(std::vector<double> list)
      : numbers(std::move(list)), shape{static_cast<std::int64_t>(numbers.size())} {}
  Values(std::vector<std::int64_t> sizes, std::vector<double> list)
      : numbers(std::move(list)), shape(std::move(sizes)) {}

  [[nodiscard]] Values as(Dtype type) const {
    Values result = *this;
    result.dtype = type;
    return result;
  }

  std::vector<double> numbers;
  std::vector<std::int64_t> shape;
  Dtype dtype = Dtype::float32;
};

/// `count` numbers that depend on `label` alone.
[[nodiscard]] inline Values labelled(std::string_view label, std::size_t count = 4) {
  std::vector<double> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t hash = 2166136261U + static_cast<std::uint32_t>(i) * 7919U;
    for (const char c : label) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    numbers.push_back(static_cast<double>(hash % 100003U) / 1024.0);
  }
  return Values(std::move(numbers));
}

/// A tensor of the program: a view of a storage.
struct Tensor {
  std::uint64_t storage = kNone;
  Geometry geometry;
};

namespace detail {

[[nodiscard]] inline std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t d = sizes.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<std::int64_t>(sizes[d], 1);
  return strides;
}

[[nodiscard]] inline std::vector<std::byte> bytes_of(const Values& values) {
  std::vector<std::byte> bytes;
  const auto put = [&](const auto& number) {
    const auto* begin = reinterpret_cast<const std::byte*>(&number);
    bytes.insert(bytes.end(), begin, begin + sizeof(number));
  };
  for (const double number : values.numbers) {
    if (values.dtype == Dtype::float64)
      put(number);
    else if (values.dtype == Dtype::int64)
      put(static_cast<std::int64_t>(number));
    else if (values.dtype == Dtype::bfloat16)
      put(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(number)) >>
                                     16));  // cut off
    else
      put(static_cast<float>(number));
  }
  return bytes;
}

struct StoredSlot {
  Slot slot;
  Geometry geometry;
  std::string name;
};

/// An event that owns its text and slots.
struct StoredEvent {
  Event event;
  std::string op, overload, argument_names, return_names, root, module, module_type, stack;
  std::vector<StoredSlot> slots;
  std::vector<std::byte> arguments;
  std::int64_t step = kSetup;
};

/// What the events of one block refer to. A fresh copy for each block, so that a reader that keeps
/// a view longer than the block is caught by the sanitizer.
struct BlockData {
  std::deque<StoredEvent> events;
  std::deque<std::vector<Slot>> slots;
};

struct StoredLane {
  Lane lane;
  std::vector<StoredEvent> events;
  std::vector<std::size_t> open;  ///< indices of events that have not ended
};

struct Storage {
  std::vector<std::byte> bytes;
  std::string name;
  std::uint32_t flags = 0;  ///< slot_flag: parameter, buffer, gradient
  std::uint32_t writes = 0;
  std::uint64_t writer = kNone;
  std::uint32_t writer_lane = 0;
  bool uninitialised = false;
  bool changed = false;
};

}  // namespace detail

/// A run held in memory.
class MemoryRun : public Run {
 public:
  RunInfo details;
  std::uint32_t rank = 0;
  std::vector<detail::StoredLane> stored;
  std::vector<EnvironmentEntry> settings;
  std::map<Digest, std::vector<std::byte>> contents;
  std::size_t block_events = ~std::size_t{0};

  [[nodiscard]] const RunInfo& info() const override { return details; }
  [[nodiscard]] std::vector<std::uint32_t> ranks() const override { return {rank}; }
  [[nodiscard]] std::vector<Lane> lanes(std::uint32_t) const override {
    std::vector<Lane> result;
    for (const auto& lane : stored) {
      result.push_back(lane.lane);
      result.back().events = lane.events.size();
    }
    return result;
  }
  [[nodiscard]] std::vector<EnvironmentEntry> environment(std::uint32_t) const override {
    return settings;
  }
  [[nodiscard]] std::size_t block_count(std::uint32_t, std::uint32_t lane) const override {
    return ranges(lane).size();
  }
  [[nodiscard]] Block block(std::uint32_t, std::uint32_t lane, std::size_t index) const override {
    const auto [begin, end] = ranges(lane)[index];
    const auto& events = stored[lane].events;
    auto data = std::make_shared<detail::BlockData>();
    Block result;
    result.lane = lane;
    result.step = events[begin].step;
    for (std::size_t k = begin; k < end; ++k) {
      const auto& copy = data->events.emplace_back(events[k]);
      auto& slots = data->slots.emplace_back();
      for (const auto& from : copy.slots) {
        slots.push_back(from.slot);
        slots.back().name = from.name;
        slots.back().geometry = from.slot.flags & slot_flag::undefined ? nullptr : &from.geometry;
      }
      Event event = copy.event;
      event.op = copy.op;
      event.overload = copy.overload;
      event.stack = copy.stack;
      event.argument_names = copy.argument_names;
      event.return_names = copy.return_names;
      event.root = copy.root;
      event.module = copy.module;
      event.module_type = copy.module_type;
      event.stack = copy.stack;
      event.slots = slots;
      event.argument_bytes = copy.arguments;
      result.events.push_back(event);
    }
    result.storage = data;
    return result;
  }
  [[nodiscard]] std::optional<std::vector<std::byte>> content(std::uint32_t,
                                                              const Digest& digest) const override {
    const auto at = contents.find(digest);
    if (at == contents.end()) return std::nullopt;
    return at->second;
  }

 private:
  [[nodiscard]] const std::vector<std::pair<std::size_t, std::size_t>>& ranges(
      std::uint32_t lane) const {
    auto& known = ranges_[lane];
    const auto& events = stored.at(lane).events;
    if (!known.empty() || events.empty()) return known;
    for (std::size_t begin = 0; begin < events.size();) {
      std::size_t end = begin;
      while (end < events.size() && events[end].step == events[begin].step &&
             end - begin < block_events)
        ++end;
      known.emplace_back(begin, end);
      begin = end;
    }
    return known;
  }
  mutable std::map<std::uint32_t, std::vector<std::pair<std::size_t, std::size_t>>> ranges_;
};

class RunBuilder;

/// One event under construction. It ends with the builder's destruction: what is recorded while the
/// builder lives runs inside it.
class EventBuilder {
 public:
  EventBuilder(RunBuilder& run, std::uint32_t lane, std::size_t index)
      : run_(run), lane_(lane), index_(index) {}
  EventBuilder(const EventBuilder&) = delete;
  EventBuilder& operator=(const EventBuilder&) = delete;
  ~EventBuilder();

  /// Reads `tensor`.
  EventBuilder& in(const Tensor& tensor, std::string_view name = {}, std::uint32_t flags = 0);
  /// A tensor list as one argument.
  EventBuilder& in_list(const std::vector<Tensor>& tensors, std::string_view name = {});
  /// An optional tensor that was not given.
  EventBuilder& in_none(std::string_view name = {});
  /// Is given `tensor` only to write it, or only for its shape.
  EventBuilder& given(const Tensor& tensor, std::uint32_t flag = slot_flag::overwritten);
  /// A number that travels as a tensor without dimensions.
  EventBuilder& in_number(double number);
  EventBuilder& arg(std::string_view name, double value);
  EventBuilder& arg(std::string_view name, int value);
  EventBuilder& arg(std::string_view name, bool value);
  EventBuilder& arg(std::string_view name, std::vector<std::int64_t> values);
  EventBuilder& arg(std::string_view name, std::string_view value);
  EventBuilder& device_arg(std::string_view name, std::uint8_t type);
  EventBuilder& result(double value);
  EventBuilder& overload(std::string_view name);
  EventBuilder& flag(std::uint32_t event_flags);
  /// Where in the program it was called: "train.cpp:41 main", innermost first, a line each.
  EventBuilder& stack(std::string calls);
  /// Draws `count` numbers from the generator; 0 for an op that could have.
  EventBuilder& draws(int count);
  /// Runs `body` inside this event.
  EventBuilder& calls(const std::function<void()>& body);
  /// Leaves new contents in a tensor that exists. With `whole` false the memory around a value with
  /// uninitialised parts stays uninitialised.
  EventBuilder& writes(const Tensor& tensor, const Values& values, bool whole = true);
  /// What it returns from now on is numbered from `first`.
  EventBuilder& numbered(std::uint16_t first) {
    returns_ = first;
    return *this;
  }
  /// Returns a tensor that shares memory with an argument.
  EventBuilder& returns_view(const Tensor& view);
  /// Returns a tensor that exists already (an inner op's result, handed on).
  EventBuilder& returns(const Tensor& tensor, std::uint32_t flags = 0);
  /// Returns a new tensor.
  Tensor out(const Values& values, std::uint32_t flags = 0);
  /// Returns a new tensor with strides of its own; `values` in memory order.
  Tensor out_strided(const Values& memory, std::vector<std::int64_t> sizes,
                     std::vector<std::int64_t> strides);
  /// Returns memory that nothing has written.
  Tensor out_uninitialised(const Values& garbage);

  [[nodiscard]] std::uint64_t position() const;

 private:
  friend class RunBuilder;
  [[nodiscard]] detail::StoredEvent& stored() const;
  void add_slot(Role role, std::uint16_t index, std::uint16_t element, const Tensor& tensor,
                std::uint32_t flags);
  template <class Write>
  EventBuilder& add_argument(std::string_view name, Write write);

  RunBuilder& run_;
  std::uint32_t lane_;
  std::size_t index_;
  std::uint16_t arguments_ = 0;
  std::uint16_t returns_ = 0;
};

class RunBuilder {
 public:
  RunBuilder() {
    run_->details.path = "run";
    run_->details.command = {"./train"};
    run_->details.level = "digest";
    run_->details.complete = true;
    run_->details.ranks = 1;
    lane(LaneRole::main, 0);
  }

  RunBuilder& step(std::int64_t number) {
    step_ = number;
    return *this;
  }
  RunBuilder& phase(Phase phase) {
    phase_ = phase;
    return *this;
  }
  /// Events come from this lane from now on.
  RunBuilder& lane(LaneRole role, std::uint32_t ordinal, const std::string& thread = "thread") {
    for (std::uint32_t id = 0; id < run_->stored.size(); ++id)
      if (run_->stored[id].lane.role == role && run_->stored[id].lane.ordinal == ordinal) {
        lane_ = id;
        return *this;
      }
    lane_ = static_cast<std::uint32_t>(run_->stored.size());
    run_->stored.push_back({{lane_, role, ordinal, thread, 0}, {}, {}});
    return *this;
  }
  RunBuilder& backward(bool on) {
    backward_ = on;
    phase_ = on ? Phase::backward : Phase::optimizer;
    return *this;
  }
  RunBuilder& threads(std::uint16_t count) {
    threads_ = count;
    return *this;
  }
  RunBuilder& seed(std::uint64_t number) {
    seed_ = number;
    drawn_ = 0;
    return *this;
  }
  /// The generator is moved by something that is not recorded.
  RunBuilder& draw_unseen(std::uint64_t count) {
    drawn_ += count;
    return *this;
  }
  /// Numbers drawn since the seed was set.
  [[nodiscard]] std::uint64_t drawn() const noexcept { return drawn_; }
  /// A text that changes with a tensor's bytes.
  [[nodiscard]] std::string content_words(const Tensor& tensor) const {
    return to_string(digest(storages_.at(tensor.storage).bytes));
  }
  RunBuilder& environment(std::string key, std::string value) {
    run_->settings.push_back({step_, std::move(key), std::move(value)});
    return *this;
  }
  RunBuilder& incomplete(std::string reason) {
    run_->details.complete = false;
    run_->details.incomplete_reason = std::move(reason);
    return *this;
  }
  /// From now on the bytes of all values are recorded too.
  RunBuilder& keep_content() {
    keep_content_ = true;
    run_->details.level = "full";
    return *this;
  }
  RunBuilder& split_blocks(std::size_t events) {
    run_->block_events = events;
    return *this;
  }
  /// Inputs are not digested again at the read.
  RunBuilder& without_verification() {
    verify_ = false;
    return *this;
  }
  /// Modules from now on are those of this root.
  RunBuilder& root(std::string name) {
    root_ = std::move(name);
    return *this;
  }
  /// The program updates its parameters itself.
  RunBuilder& without_optimizer() {
    has_optimizer_ = false;
    return *this;
  }
  RunBuilder& rank(std::uint32_t number) {
    run_->rank = number;
    return *this;
  }

  /// A tensor that no recorded op made.
  Tensor data(const Values& values) { return make(values, {}, 0); }
  Tensor parameter(std::string name, const Values& values) {
    return make(values, std::move(name), slot_flag::parameter);
  }
  Tensor buffer(std::string name, const Values& values) {
    return make(values, std::move(name), slot_flag::buffer);
  }
  /// The tensor seen through other sizes, strides and offset (in elements).
  [[nodiscard]] Tensor view(const Tensor& of, std::vector<std::int64_t> sizes,
                            std::vector<std::int64_t> strides, std::int64_t offset = 0) const {
    Tensor result = of;
    result.geometry.sizes = std::move(sizes);
    result.geometry.strides = std::move(strides);
    result.geometry.storage_offset = offset;
    return result;
  }
  void name_storage(const Tensor& tensor, std::string name, std::uint32_t flags) {
    storages_.at(tensor.storage).name = std::move(name);
    storages_.at(tensor.storage).flags |= flags;
  }
  /// The program writes behind the recorder's back. The next read is flagged as changed unless it
  /// goes `unnoticed`, as where a recorder never saw that view of the memory before.
  void overwrite(const Tensor& tensor, const Values& values, bool unnoticed = false) {
    auto& storage = storages_.at(tensor.storage);
    store(tensor, values);
    storage.changed = !unnoticed && (storage.writer != kNone || storage.writes > 0);
    storage.uninitialised = false;
  }

  EventBuilder op(std::string_view name) { return begin(EventKind::op, name); }
  /// An event that is no op.
  EventBuilder event(EventKind kind, std::string_view name) { return begin(kind, name); }
  /// An op that calls others: `body` gets it while it is open and gives the tensor that it returns.
  Tensor composite(std::string_view name, const std::function<Tensor(EventBuilder&)>& body) {
    EventBuilder event = begin(EventKind::op, name);
    Tensor result;
    event.calls([&] { result = body(event); });
    event.returns(result);
    return result;
  }
  /// Ops in `body` run inside this scope.
  void scope(EventKind kind, std::string_view name, const std::function<void()>& body) {
    begin(kind, name).calls(body);
  }
  void module(std::string_view path, const std::function<void()>& body,
              std::string_view type = "Linear") {
    modules_.push_back({std::string(path), std::string(type)});
    begin(EventKind::module, type).calls(body);
    modules_.pop_back();
  }
  /// A module whose outputs are recorded with its end.
  void module_with_output(std::string_view path, const std::function<Tensor()>& body,
                          std::string_view type = "Linear") {
    modules_.push_back({std::string(path), std::string(type)});
    {
      EventBuilder event = begin(EventKind::module, type);
      Tensor output;
      event.calls([&] { output = body(); });
      event.returns(output);
    }
    modules_.pop_back();
  }
  /// The call of a module, with what crosses its boundary; gives its position.
  std::uint64_t call(std::string_view path, const std::function<void(EventBuilder&)>& body,
                     std::string_view type = "Linear") {
    modules_.push_back({std::string(path), std::string(type)});
    EventBuilder event = begin(EventKind::module, std::string(type).append("::forward"));
    body(event);
    modules_.pop_back();
    return event.position();
  }
  /// What else is told of a module: an output or a gradient of its call at `forward`.
  EventBuilder of_module(EventKind kind, std::string_view path, std::uint64_t forward,
                         std::string_view type = "Linear") {
    const char* const what = kind == EventKind::module_output ? "::output" : "::gradient";
    return begin(kind, std::string(type).append(what), {path, type}, forward);
  }
  /// A parameter's gradient has been accumulated.
  Tensor gradient(const std::string& name, const Values& values, std::string_view path) {
    const Tensor gradient = make(values, name, slot_flag::gradient);
    begin(EventKind::gradient, "torch::autograd::AccumulateGrad", {path, "Linear"}, kNone)
        .returns(gradient);
    return gradient;
  }
  /// The root's parameters and buffers as they stand.
  void parameters(const std::vector<Tensor>& tensors) {
    EventBuilder event = begin(EventKind::parameters, "parameters", {"", "Net"}, kNone);
    for (const Tensor& tensor : tensors) event.in(tensor);
  }
  /// `forward` is the position of an op of this lane, or of another one.
  void node(std::string_view name, std::uint64_t forward, const std::function<void()>& body,
            std::optional<std::uint32_t> lane = {}) {
    EventBuilder event = begin(EventKind::node, name);
    event.stored().event.forward = forward;
    event.stored().event.forward_lane = lane.value_or(lane_);
    event.calls(body);
  }

  /// The program has begun that many steps, recorded or not.
  void steps_in_run(std::uint64_t steps) { run_->details.steps_in_run = steps; }

  /// The position that the next event of this lane takes.
  [[nodiscard]] std::uint64_t next_position() const { return run_->stored[lane_].events.size(); }

  /// The finished run; the builder is empty afterwards.
  [[nodiscard]] std::unique_ptr<MemoryRun> build() {
    auto& info = run_->details;
    std::int64_t last = kSetup;
    for (const auto& lane : run_->stored) {
      info.events += lane.events.size();
      for (const auto& event : lane.events) {
        last = std::max(last, event.step);
        info.values += event.slots.size();
      }
    }
    info.steps = static_cast<std::uint64_t>(last + 1);
    return std::move(run_);
  }

 private:
  friend class EventBuilder;

  EventBuilder begin(EventKind kind, std::string_view name) {
    if (modules_.empty()) return begin(kind, name, {}, kNone);
    return begin(kind, name, {modules_.back().first, modules_.back().second}, kNone);
  }

  struct ModuleOfEvent {
    std::string_view path, type;
  };
  EventBuilder begin(EventKind kind, std::string_view name, const ModuleOfEvent& module,
                     std::uint64_t forward) {
    auto& lane = run_->stored[lane_];
    detail::StoredEvent stored;
    stored.op = name;
    stored.step = step_;
    Event& event = stored.event;
    event.kind = kind;
    event.position = lane.events.size();
    event.phase = step_ == kSetup ? Phase::setup : phase_;
    event.threads = threads_;
    if (backward_) event.flags |= event_flag::in_backward;
    if (phase_ == Phase::optimizer && step_ != kSetup && has_optimizer_)
      event.flags |= event_flag::in_optimizer;
    if (!lane.open.empty()) event.parent = lane.events[lane.open.back()].event.position;
    event.depth = static_cast<std::uint16_t>(lane.open.size());
    event.forward = forward;
    event.forward_lane = lane_;
    if (!module.type.empty()) {
      event.has_module = true;
      stored.root = root_;
      stored.module = module.path;
      stored.module_type = module.type;
    }
    lane.open.push_back(lane.events.size());
    lane.events.push_back(std::move(stored));
    return {*this, lane_, lane.events.size() - 1};
  }

  Tensor make(const Values& values, std::string name, std::uint32_t flags) {
    Tensor tensor;
    tensor.storage = next_storage_++;
    tensor.geometry.dtype = values.dtype;
    tensor.geometry.sizes = values.shape;
    tensor.geometry.strides = detail::row_major(values.shape);
    tensor.geometry.flags = geometry_flag::dense | geometry_flag::contiguous;
    auto& storage = storages_[tensor.storage];
    storage.bytes = detail::bytes_of(values);
    storage.name = std::move(name);
    storage.flags = flags;
    return tensor;
  }

  /// Writes numbers, given in the view's logical order, into the view's elements.
  void store(const Tensor& tensor, const Values& values) {
    const auto bytes = detail::bytes_of(values.as(tensor.geometry.dtype));
    const std::size_t element = element_size(tensor.geometry.dtype);
    auto& target = storages_.at(tensor.storage).bytes;
    const auto& sizes = tensor.geometry.sizes;
    std::vector<std::int64_t> index(sizes.size(), 0);
    for (std::size_t at = 0; at + element <= bytes.size(); at += element) {
      std::int64_t offset = tensor.geometry.storage_offset;
      for (std::size_t d = 0; d < sizes.size(); ++d)
        offset += index[d] * tensor.geometry.strides[d];
      std::memcpy(target.data() + static_cast<std::size_t>(offset) * element, bytes.data() + at,
                  element);
      for (std::size_t d = sizes.size(); d-- > 0;) {
        if (++index[d] < sizes[d]) break;
        index[d] = 0;
      }
    }
  }

  [[nodiscard]] Digest state() const {
    const std::array<std::uint64_t, 2> words{seed_, drawn_};
    return digest(std::as_bytes(std::span(words)));
  }

  std::unique_ptr<MemoryRun> run_ = std::make_unique<MemoryRun>();
  std::map<std::uint64_t, detail::Storage> storages_;
  std::uint64_t next_storage_ = 1;
  std::vector<std::pair<std::string, std::string>> modules_;
  std::int64_t step_ = kSetup;
  Phase phase_ = Phase::forward;
  std::uint32_t lane_ = 0;
  std::uint16_t threads_ = 1;
  std::uint64_t seed_ = 42;
  std::uint64_t drawn_ = 0;
  bool backward_ = false;
  bool keep_content_ = false;
  bool verify_ = true;
  bool has_optimizer_ = true;
  std::string root_ = "Net";
};

inline EventBuilder::~EventBuilder() { run_.run_->stored[lane_].open.pop_back(); }

inline detail::StoredEvent& EventBuilder::stored() const {
  return run_.run_->stored[lane_].events[index_];
}

inline std::uint64_t EventBuilder::position() const { return stored().event.position; }

inline void EventBuilder::add_slot(Role role, std::uint16_t index, std::uint16_t element,
                                   const Tensor& tensor, std::uint32_t flags) {
  auto& storage = run_.storages_.at(tensor.storage);
  detail::StoredSlot entry;
  entry.geometry = tensor.geometry;
  entry.name = storage.name;
  Slot& slot = entry.slot;
  slot.role = role;
  slot.index = index;
  slot.element = element;
  slot.flags = flags | storage.flags;
  slot.storage = tensor.storage;
  slot.writes = storage.writes;
  slot.writer = storage.writer;
  slot.writer_lane = storage.writer_lane;
  const StridedBytes bytes{
      storage.bytes.data() + static_cast<std::size_t>(tensor.geometry.storage_offset) *
                                 element_size(tensor.geometry.dtype),
      element_size(tensor.geometry.dtype), entry.geometry.sizes, entry.geometry.strides};
  constexpr std::uint32_t kUnread = slot_flag::overwritten | slot_flag::metadata_only;
  if (flags & (slot_flag::view | kUnread)) {
    slot.flags |= slot_flag::no_digest;
  } else {
    slot.digest = digest_in_memory_order(bytes);
    if (entry.geometry.strides != detail::row_major(entry.geometry.sizes)) {
      slot.flags |= slot_flag::logical;
      slot.logical_digest = digest_in_logical_order(bytes);
    }
    if (run_.keep_content_) {
      std::vector<std::byte> packed(packed_size(bytes));
      pack_in_memory_order(bytes, packed);
      run_.run_->contents[slot.digest] = std::move(packed);
      slot.flags |= slot_flag::has_content;
    }
  }
  if (role == Role::input && !(slot.flags & kUnread)) {
    if (storage.uninitialised) slot.flags |= slot_flag::uninitialised;
    if (storage.writer == kNone) slot.flags |= slot_flag::unproduced;
    if (stored().event.depth == 0 && run_.verify_) slot.flags |= slot_flag::verified;
    if (storage.changed && run_.verify_) slot.flags |= slot_flag::changed;
    storage.changed = false;
  }
  stored().slots.push_back(std::move(entry));
}

inline EventBuilder& EventBuilder::in(const Tensor& tensor, std::string_view name,
                                      std::uint32_t flags) {
  add_slot(Role::input, arguments_++, 0, tensor, flags);
  stored().argument_names += (arguments_ == 1 ? "" : ",") + std::string(name);
  return *this;
}

inline EventBuilder& EventBuilder::in_list(const std::vector<Tensor>& tensors,
                                           std::string_view name) {
  std::uint16_t element = 0;
  for (const Tensor& tensor : tensors) add_slot(Role::input, arguments_, element++, tensor, 0);
  ++arguments_;
  stored().argument_names += (arguments_ == 1 ? "" : ",") + std::string(name);
  return *this;
}

inline EventBuilder& EventBuilder::in_none(std::string_view name) {
  detail::StoredSlot entry;
  entry.slot.index = arguments_++;
  entry.slot.flags = slot_flag::undefined | slot_flag::no_digest;
  stored().slots.push_back(entry);
  stored().argument_names += (arguments_ == 1 ? "" : ",") + std::string(name);
  return *this;
}

inline EventBuilder& EventBuilder::given(const Tensor& tensor, std::uint32_t flag) {
  return in(tensor, "self", flag);
}

inline EventBuilder& EventBuilder::in_number(double number) {
  const Tensor tensor = run_.make(Values(std::vector<std::int64_t>{}, {number}).as(Dtype::float64),
                                  {}, slot_flag::wrapped_number);
  return in(tensor, "other");
}

template <class Write>
EventBuilder& EventBuilder::add_argument(std::string_view name, Write write) {
  std::array<std::byte, 256> buffer{};
  ArgumentWriter writer(buffer);
  write(writer, arguments_);
  const auto bytes = writer.bytes();
  stored().arguments.insert(stored().arguments.end(), bytes.begin(), bytes.end());
  ++arguments_;
  stored().argument_names += (arguments_ == 1 ? "" : ",") + std::string(name);
  return *this;
}

inline EventBuilder& EventBuilder::arg(std::string_view name, double value) {
  return add_argument(name, [&](ArgumentWriter& w, std::uint16_t i) { w.number(i, value); });
}
inline EventBuilder& EventBuilder::arg(std::string_view name, int value) {
  return add_argument(name, [&](ArgumentWriter& w, std::uint16_t i) { w.integer(i, value); });
}
inline EventBuilder& EventBuilder::arg(std::string_view name, bool value) {
  return add_argument(name, [&](ArgumentWriter& w, std::uint16_t i) { w.boolean(i, value); });
}
inline EventBuilder& EventBuilder::arg(std::string_view name, std::vector<std::int64_t> values) {
  return add_argument(name, [&](ArgumentWriter& w, std::uint16_t i) { w.int_list(i, values); });
}
inline EventBuilder& EventBuilder::arg(std::string_view name, std::string_view value) {
  return add_argument(name, [&](ArgumentWriter& w, std::uint16_t i) { w.string(i, value); });
}
inline EventBuilder& EventBuilder::device_arg(std::string_view name, std::uint8_t type) {
  return add_argument(name, [&](ArgumentWriter& w, std::uint16_t i) { w.device(i, type, -1); });
}

inline EventBuilder& EventBuilder::result(double value) {
  std::array<std::byte, 64> buffer{};
  ArgumentWriter writer(buffer);
  writer.number(kArgumentResult, value);
  const auto bytes = writer.bytes();
  stored().arguments.insert(stored().arguments.end(), bytes.begin(), bytes.end());
  return *this;
}

inline EventBuilder& EventBuilder::overload(std::string_view name) {
  stored().overload = name;
  return *this;
}

inline EventBuilder& EventBuilder::flag(std::uint32_t event_flags) {
  stored().event.flags |= event_flags;
  return *this;
}

inline EventBuilder& EventBuilder::draws(int count) {
  Event& event = stored().event;
  event.flags |= event_flag::seeded;
  event.rng.seed = run_.seed_;
  event.rng.before = run_.state();
  run_.drawn_ += static_cast<std::uint64_t>(count);
  event.rng.after = run_.state();
  return *this;
}

inline EventBuilder& EventBuilder::stack(std::string calls) {
  stored().stack = std::move(calls);
  return *this;
}

inline EventBuilder& EventBuilder::calls(const std::function<void()>& body) {
  body();
  if (stored().event.flags & event_flag::seeded) stored().event.rng.after = run_.state();
  return *this;
}

inline EventBuilder& EventBuilder::writes(const Tensor& tensor, const Values& values, bool whole) {
  run_.store(tensor, values);
  auto& storage = run_.storages_.at(tensor.storage);
  ++storage.writes;
  storage.writer = position();
  storage.writer_lane = lane_;
  storage.changed = false;
  if (whole) storage.uninitialised = false;
  add_slot(Role::mutated, 0, 0, tensor, 0);
  return *this;
}

inline EventBuilder& EventBuilder::returns_view(const Tensor& view) {
  add_slot(Role::output, returns_++, 0, view, slot_flag::view);
  return *this;
}

inline EventBuilder& EventBuilder::returns(const Tensor& tensor, std::uint32_t flags) {
  add_slot(Role::output, returns_++, 0, tensor, flags);
  return *this;
}

inline Tensor EventBuilder::out(const Values& values, std::uint32_t flags) {
  const Tensor tensor = run_.make(values, {}, 0);
  auto& storage = run_.storages_.at(tensor.storage);
  storage.writes = 1;
  storage.writer = position();
  storage.writer_lane = lane_;
  add_slot(Role::output, returns_++, 0, tensor, flags);
  return tensor;
}

inline Tensor EventBuilder::out_strided(const Values& memory, std::vector<std::int64_t> sizes,
                                        std::vector<std::int64_t> strides) {
  Tensor tensor = run_.make(memory, {}, 0);
  tensor.geometry.sizes = std::move(sizes);
  tensor.geometry.strides = std::move(strides);
  tensor.geometry.flags = geometry_flag::dense;
  auto& storage = run_.storages_.at(tensor.storage);
  storage.writes = 1;
  storage.writer = position();
  storage.writer_lane = lane_;
  add_slot(Role::output, returns_++, 0, tensor, 0);
  return tensor;
}

inline Tensor EventBuilder::out_uninitialised(const Values& garbage) {
  const Tensor tensor = run_.make(garbage, {}, 0);
  run_.storages_.at(tensor.storage).uninitialised = true;
  flag(event_flag::factory);
  add_slot(Role::output, returns_++, 0, tensor, slot_flag::uninitialised);
  return tensor;
}

}  // namespace ulpscope::test
