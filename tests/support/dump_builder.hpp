#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dump/recording.hpp"
#include "dump/status.hpp"
#include "ring/message.hpp"
#include "ulpscope/run.hpp"

/// Makes small dumps by sending what a recorded program would send.
///
///   DumpBuilder dump(directory);
///   auto& main = dump.lane();
///   main.op("aten::mm").root("Net").module("fc").input({1}).output({2});
///   dump.finish();
namespace ulpscope::test {

/// A directory that is removed with its contents.
class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ulpscope-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// Writes ring messages; names are defined before their first use.
class MessageWriter {
 public:
  std::uint32_t string(std::string_view text) {
    const auto [item, added] = strings_.try_emplace(std::string(text), next_string_);
    if (!added) return item->second;
    ring::StringMessage message{};
    message.id = next_string_++;
    message.length = static_cast<std::uint32_t>(text.size());
    put(ring::MessageKind::string, message, std::as_bytes(std::span(text)));
    return message.id;
  }

  std::uint32_t op(std::string_view name, std::string_view overload = {},
                   std::string_view argument_names = {}, std::string_view return_names = {}) {
    const std::string key = std::string(name) + '\n' + std::string(overload) + '\n' +
                            std::string(argument_names) + '\n' + std::string(return_names);
    const auto [item, added] = ops_.try_emplace(key, next_op_);
    if (!added) return item->second;
    ring::OpMessage message{};
    message.id = next_op_++;
    message.name = string(name);
    message.overload = overload.empty() ? 0 : string(overload);
    message.argument_names = argument_names.empty() ? 0 : string(argument_names);
    message.return_names = return_names.empty() ? 0 : string(return_names);
    put(ring::MessageKind::op, message, {});
    return message.id;
  }

  /// A contiguous value.
  std::uint32_t geometry(Dtype dtype, const std::vector<std::int64_t>& sizes) {
    const auto [item, added] =
        geometries_.try_emplace({static_cast<int>(dtype), sizes}, next_geometry_);
    if (!added) return item->second;
    ring::GeometryMessage message{};
    message.id = next_geometry_++;
    message.dtype = static_cast<std::uint8_t>(dtype);
    message.device_index = -1;
    message.flags = geometry_flag::dense | geometry_flag::contiguous;
    message.dimensions = static_cast<std::uint8_t>(sizes.size());
    message.has_strides = 1;
    std::vector<std::int64_t> dimensions = sizes;
    std::vector<std::int64_t> strides(sizes.size(), 1);
    for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
    dimensions.insert(dimensions.end(), strides.begin(), strides.end());
    put(ring::MessageKind::geometry, message, std::as_bytes(std::span(dimensions)));
    return message.id;
  }

  /// A value in other than row-major order.
  std::uint32_t strided_geometry(Dtype dtype, const std::vector<std::int64_t>& sizes,
                                 const std::vector<std::int64_t>& strides) {
    ring::GeometryMessage message{};
    message.id = next_geometry_++;
    message.dtype = static_cast<std::uint8_t>(dtype);
    message.device_index = -1;
    message.dimensions = static_cast<std::uint8_t>(sizes.size());
    message.has_strides = 1;
    std::vector<std::int64_t> dimensions = sizes;
    dimensions.insert(dimensions.end(), strides.begin(), strides.end());
    put(ring::MessageKind::geometry, message, std::as_bytes(std::span(dimensions)));
    return message.id;
  }

  void event(ring::EventRow row, std::span<const ring::SlotRow> slots,
             std::span<const std::byte> arguments) {
    row.slots = static_cast<std::uint16_t>(slots.size());
    row.argument_bytes = static_cast<std::uint32_t>(arguments.size());
    std::vector<std::byte> rest(slots.size_bytes() + arguments.size());
    if (!slots.empty()) std::memcpy(rest.data(), slots.data(), slots.size_bytes());
    if (!arguments.empty()) {
      std::memcpy(rest.data() + slots.size_bytes(), arguments.data(), arguments.size());
    }
    put(ring::MessageKind::event, row, rest);
  }

  /// A value's bytes, in pieces of at most `piece` bytes.
  void content(const Digest& digest, std::span<const std::byte> bytes,
               std::size_t piece = 1 << 16) {
    std::size_t done = 0;
    do {
      ring::ContentMessage message{};
      message.digest[0] = digest.high;
      message.digest[1] = digest.low;
      message.total = bytes.size();
      message.offset = done;
      const auto part = bytes.subspan(done, std::min(piece, bytes.size() - done));
      message.length = static_cast<std::uint32_t>(part.size());
      put(ring::MessageKind::content, message, part);
      done += part.size();
    } while (done < bytes.size());
  }

  void statistics(const Digest& digest, Dtype dtype, const Statistics& of) {
    ring::StatisticsMessage message{};
    message.digest[0] = digest.high;
    message.digest[1] = digest.low;
    message.min = of.min;
    message.max = of.max;
    message.mean = of.mean;
    message.l2 = of.l2;
    message.elements = of.elements;
    message.nan = of.nan;
    message.inf = of.inf;
    message.zero = of.zero;
    message.subnormal = of.subnormal;
    message.dtype = static_cast<std::uint8_t>(dtype);
    put(ring::MessageKind::statistics, message, {});
  }

  /// Return addresses, innermost first, as offsets in objects.
  std::uint32_t stack(const std::vector<std::pair<std::string, std::uint64_t>>& addresses) {
    std::vector<ring::StackFrame> frames;
    for (const auto& [object, offset] : addresses) frames.push_back({offset, string(object), 0});
    ring::StackMessage message{};
    message.id = next_stack_++;
    message.frames = static_cast<std::uint32_t>(frames.size());
    put(ring::MessageKind::stack, message, std::as_bytes(std::span(frames)));
    return message.id;
  }

  void environment(std::uint64_t epoch, std::string_view key, std::string_view value) {
    ring::EnvironmentMessage message{};
    message.epoch = epoch;
    message.key = string(key);
    message.length = static_cast<std::uint32_t>(value.size());
    put(ring::MessageKind::environment, message, std::as_bytes(std::span(value)));
  }

  void notice(bool fatal, std::string_view text) {
    ring::NoticeMessage message{};
    message.fatal = fatal ? 1 : 0;
    message.length = static_cast<std::uint32_t>(text.size());
    put(ring::MessageKind::notice, message, std::as_bytes(std::span(text)));
  }

  /// The messages since the last call.
  [[nodiscard]] std::vector<std::byte> take() { return std::exchange(bytes_, {}); }

 private:
  template <class Message>
  void put(ring::MessageKind kind, Message message, std::span<const std::byte> rest) {
    const std::uint32_t size = ring::padded(sizeof message + rest.size());
    message.header = {size, kind, 0};
    const std::size_t at = bytes_.size();
    bytes_.resize(at + size);
    std::memcpy(bytes_.data() + at, &message, sizeof message);
    if (!rest.empty()) std::memcpy(bytes_.data() + at + sizeof message, rest.data(), rest.size());
  }

  std::vector<std::byte> bytes_;
  std::map<std::string, std::uint32_t> strings_;
  std::map<std::string, std::uint32_t> ops_;
  std::map<std::pair<int, std::vector<std::int64_t>>, std::uint32_t> geometries_;
  std::uint32_t next_string_ = 1;
  std::uint32_t next_op_ = 1;
  std::uint32_t next_geometry_ = 1;
  std::uint32_t next_stack_ = 1;
};

/// A tensor of an event. Values with the same `digest` number have the same digest and, unless
/// `value` says otherwise, are the same value.
struct TensorSpec {
  std::uint64_t digest = 0;
  std::uint32_t flags = 0;
  std::string_view name = {};
  std::uint64_t storage = ring::kNone;
  std::uint32_t writes = 0;
  std::uint64_t writer = ring::kNone;
  std::uint32_t writer_lane = 0;
  std::vector<std::int64_t> sizes = {2, 3};
  Dtype dtype = Dtype::float32;
  std::optional<std::uint64_t> value = std::nullopt;
};

/// The digest for number `n` in TensorSpec::digest.
[[nodiscard]] constexpr Digest digest_number(std::uint64_t n) {
  return {n * 0x9e3779b97f4a7c15ULL, n ^ 0x5bd1e995ULL};
}

class DumpBuilder;

/// The events of one thread. Events nest: those begun before end() are inside.
class LaneBuilder {
 public:
  /// An event under construction. It ends, and is sent, when the next one begins, unless it was
  /// opened with begin().
  class EventBuilder {
   public:
    EventBuilder& root(std::string_view name) { return set(row_.root, name); }
    EventBuilder& module(std::string_view path) { return set(row_.module, path); }
    EventBuilder& module_type(std::string_view type) { return set(row_.module_type, type); }
    EventBuilder& object(std::uint64_t number) {
      row_.object = number;
      return *this;
    }
    EventBuilder& flags(std::uint32_t bits) {
      row_.flags = bits;
      return *this;
    }
    EventBuilder& no_grad() { return flags(row_.flags & ~event_flag::grad_mode); }
    EventBuilder& backward() { return flags(row_.flags | event_flag::in_backward); }
    EventBuilder& forward(std::uint64_t position, std::uint32_t lane = 0) {
      row_.forward = position;
      row_.forward_lane = lane;
      return *this;
    }
    EventBuilder& rng(std::uint64_t seed, std::uint64_t before, std::uint64_t after) {
      row_.flags |= event_flag::seeded;
      row_.rng_seed = seed;
      store(row_.rng_before, digest_number(before));
      store(row_.rng_after, digest_number(after));
      return *this;
    }
    EventBuilder& arguments(std::vector<std::byte> encoded) {
      arguments_ = std::move(encoded);
      return *this;
    }
    EventBuilder& input(const TensorSpec& tensor) { return slot(Role::input, tensor); }
    EventBuilder& output(const TensorSpec& tensor) { return slot(Role::output, tensor); }
    EventBuilder& mutated(const TensorSpec& tensor) { return slot(Role::mutated, tensor); }
    [[nodiscard]] std::uint64_t position() const noexcept { return row_.position; }
    [[nodiscard]] ring::EventRow& row() noexcept { return row_; }
    [[nodiscard]] std::vector<ring::SlotRow>& slots() noexcept { return slots_; }

   private:
    friend class LaneBuilder;

    static void store(std::uint64_t (&to)[2], const Digest& digest) {
      to[0] = digest.high;
      to[1] = digest.low;
    }
    EventBuilder& set(std::uint32_t& field, std::string_view text) {
      field = lane_->messages.string(text);
      return *this;
    }
    EventBuilder& slot(Role role, const TensorSpec& tensor) {
      ring::SlotRow row{};
      row.role = static_cast<std::uint8_t>(role);
      row.index = static_cast<std::uint16_t>(slots_.size());
      row.flags = tensor.flags;
      if (tensor.digest != 0) store(row.digest, digest_number(tensor.digest));
      row.value = tensor.value.value_or(tensor.digest);
      row.storage = tensor.storage;
      row.writes = tensor.writes;
      row.writer = tensor.writer;
      row.writer_lane = tensor.writer_lane;
      row.geometry = lane_->messages.geometry(tensor.dtype, tensor.sizes);
      row.name = tensor.name.empty() ? 0 : lane_->messages.string(tensor.name);
      slots_.push_back(row);
      return *this;
    }

    LaneBuilder* lane_ = nullptr;
    ring::EventRow row_{};
    std::vector<ring::SlotRow> slots_;
    std::vector<std::byte> arguments_;
  };

  LaneBuilder(DumpBuilder& dump, std::uint32_t id) : dump_(dump), id_(id) {}

  EventBuilder& op(std::string_view name, std::string_view overload = {}) {
    return add(EventKind::op, name, overload);
  }
  /// An event of a different kind; grad mode is on unless no_grad() is called.
  EventBuilder& add(EventKind kind, std::string_view name, std::string_view overload = {});
  /// What follows until end() is inside the event returned.
  EventBuilder& begin(EventKind kind, std::string_view name) {
    EventBuilder& event = add(kind, name);
    last_is_open_ = true;
    return event;
  }
  void end();
  /// Ends the last event: its message is in `messages`.
  void flush() { finish_last(); }
  /// Hands everything so far to the recording.
  void send();

  MessageWriter messages;

 private:
  friend class DumpBuilder;

  void finish_last();
  void finish(EventBuilder& event) { messages.event(event.row_, event.slots_, event.arguments_); }

  DumpBuilder& dump_;
  std::uint32_t id_;
  std::uint64_t next_position_ = 0;
  std::vector<EventBuilder> open_;  ///< outermost first
  std::optional<EventBuilder> last_;
  bool last_is_open_ = false;
};

/// The run of all ranks in a directory; each directory has a different one.
[[nodiscard]] inline dump::RunId run_of(const std::filesystem::path& directory) {
  return digest(std::as_bytes(std::span(directory.native())));
}

/// One rank of a dump.
class DumpBuilder {
 public:
  explicit DumpBuilder(const std::filesystem::path& directory, dump::RecordingOptions options = {},
                       std::uint32_t rank = 0)
      : options_(with_directory(std::move(options), directory)),
        rank_(rank),
        recording(options_, rank, 4711) {}

  /// Opens a further thread; the first is the main one. References stay valid.
  LaneBuilder& lane(std::string_view thread_name = "main") {
    const auto id = static_cast<std::uint32_t>(lanes_.size());
    recording.open_lane(id, id == 0, thread_name);
    return lanes_.try_emplace(id, *this, id).first->second;
  }

  /// A clock for the events of all lanes; every event takes the next tick.
  [[nodiscard]] std::uint64_t tick() noexcept { return ++epoch_; }

  /// Ends all lanes, publishes, and says in status.json that the run is complete, unless `reason`
  /// says why it is not.
  void finish(std::string_view reason = {}) {
    for (auto& [id, lane] : lanes_) {
      lane.send();
      recording.close_lane(id);
    }
    recording.finish(reason);
    dump::Status status = status_so_far();
    status.command = options_.command;
    status.level = options_.level;
    status.recorded = true;
    status.complete = reason.empty();
    status.reason = reason;
    status.ranks.push_back(rank_);
    if (recording.last_segment()) status.last_segments.push_back(*recording.last_segment());
    const dump::RecordingCounts counts = recording.counts();
    status.counts.events += counts.events;
    status.counts.values += counts.values;
    status.counts.bytes += counts.bytes;
    status.counts.segments += counts.segments;
    status.counts.steps = std::max(status.counts.steps, counts.steps);
    dump::write_status(options_.directory, status);
  }

 private:
  /// What a different rank's builder has written in this directory.
  [[nodiscard]] dump::Status status_so_far() const {
    const auto known = dump::read_status(options_.directory);
    if (known && known->run == options_.run) return *known;
    dump::Status status;
    status.run = options_.run;
    return status;
  }

  static dump::RecordingOptions with_directory(dump::RecordingOptions options,
                                               const std::filesystem::path& directory) {
    options.directory = directory;
    if (options.run == dump::RunId{}) {
      options.run = run_of(directory);
    }
    if (options.creator.empty()) options.creator = "ulpscope test";
    if (options.command.empty()) options.command = {"./train"};
    return options;
  }

  dump::RecordingOptions options_;
  std::uint32_t rank_;
  std::uint64_t epoch_ = 0;
  std::map<std::uint32_t, LaneBuilder> lanes_;

 public:
  dump::RankRecording recording;
};

inline LaneBuilder::EventBuilder& LaneBuilder::add(EventKind kind, std::string_view name,
                                                   std::string_view overload) {
  finish_last();
  EventBuilder event;
  event.lane_ = this;
  event.row_.kind = static_cast<std::uint8_t>(kind);
  event.row_.op = messages.op(name, overload);
  event.row_.position = next_position_++;
  event.row_.parent = open_.empty() ? ring::kNone : open_.back().position();
  event.row_.depth = static_cast<std::uint16_t>(open_.size());
  event.row_.forward = ring::kNone;
  event.row_.epoch = dump_.tick();
  event.row_.flags = event_flag::grad_mode;
  event.row_.threads = 1;
  return last_.emplace(std::move(event));
}

inline void LaneBuilder::finish_last() {
  if (!last_) return;
  if (last_is_open_) {
    open_.push_back(std::move(*last_));
  } else {
    finish(*last_);
  }
  last_.reset();
  last_is_open_ = false;
}

inline void LaneBuilder::end() {
  finish_last();
  finish(open_.back());
  open_.pop_back();
}

inline void LaneBuilder::send() {
  finish_last();
  const auto bytes = messages.take();
  dump_.recording.consume(id_, bytes);
}

}  // namespace ulpscope::test
