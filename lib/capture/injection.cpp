#include "capture/injection.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "capture/argument_reader.hpp"
#include "capture/content.hpp"
#include "capture/device_backend.hpp"
#include "capture/device_values.hpp"
#include "capture/filter.hpp"
#include "capture/frames.hpp"
#include "capture/memory.hpp"
#include "capture/recorder.hpp"
#include "capture/sent_content.hpp"
#include "capture/value.hpp"
#include "ring/injection.hpp"

namespace ulpscope::capture {
namespace {

namespace injection = ring::injection;

/// Opened for each use: the program may close descriptors that it does not know.
class ValueFile {
 public:
  ValueFile() : descriptor_(open(settings().injection.bytes, O_RDONLY | O_CLOEXEC)) {}
  ValueFile(const ValueFile&) = delete;
  ValueFile& operator=(const ValueFile&) = delete;
  ~ValueFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  /// Fills pieces of memory one after the other. False where the file ends, or the program may not
  /// write there itself.
  [[nodiscard]] bool read(std::uint64_t offset, std::span<iovec> pieces) const {
    while (!pieces.empty()) {
      const ssize_t done = preadv(descriptor_, pieces.data(), static_cast<int>(pieces.size()),
                                  static_cast<off_t>(offset));
      if (done <= 0) return false;
      offset += static_cast<std::uint64_t>(done);
      auto left = static_cast<std::size_t>(done);
      while (!pieces.empty() && left >= pieces.front().iov_len) {
        left -= pieces.front().iov_len;
        pieces = pieces.subspan(1);
      }
      if (left == 0) continue;
      pieces.front().iov_base = static_cast<std::byte*>(pieces.front().iov_base) + left;
      pieces.front().iov_len -= left;
    }
    return true;
  }

  template <class T>
  [[nodiscard]] bool read(std::uint64_t& offset, std::pmr::vector<T>& items) const {
    if (items.empty()) return true;
    std::array<iovec, 1> all{{{items.data(), items.size() * sizeof(T)}}};
    if (!read(offset, all)) return false;
    offset += items.size() * sizeof(T);
    return true;
  }

 private:
  int descriptor_;
};

/// The tables of the file.
struct Reference {
  std::mutex mutex;
  std::atomic<std::uint64_t> generation{0};  ///< of the recording that it was read for
  std::atomic<bool> ready{false};
  pid_t process = 0;
  std::atomic<std::uint64_t> given{0};  ///< values
  std::atomic<std::uint64_t> ops{0};    ///< of the program
  std::atomic<std::uint64_t> found{0};  ///< those of them that have a call in the reference
  std::pmr::vector<injection::Lane> lanes{&process_memory()};
  std::pmr::vector<bool> lanes_taken = std::pmr::vector<bool>(&process_memory());
  std::pmr::vector<injection::Call> calls{&process_memory()};
  std::pmr::vector<injection::Value> values{&process_memory()};
};

Reference& reference() {
  static Reference& instance = immortal<Reference>();
  return instance;
}

[[nodiscard]] bool read_tables(Reference& into) {
  const ValueFile file;
  injection::Header header;
  std::array<iovec, 1> front{{{&header, sizeof header}}};
  if (!file.read(0, front) || header.magic != injection::kMagic) return false;
  std::uint64_t offset = sizeof header;
  into.lanes.resize(header.lanes);
  into.calls.resize(header.calls);
  into.values.resize(header.values);
  into.lanes_taken.assign(header.lanes, false);
  return file.read(offset, into.lanes) && file.read(offset, into.calls) &&
         file.read(offset, into.values);
}

/// One process is given values: the first that asks. False for all others.
[[nodiscard]] bool claim() {
  std::pmr::string path(settings().injection.view(), &process_memory());
  path += injection::kTaken;
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return false;
  close(descriptor);
  return true;
}

void prepare() {
  Reference& known = reference();
  const std::lock_guard guard(known.mutex);
  if (known.generation == generation()) return;
  for (auto* const count : {&known.given, &known.ops, &known.found})
    count->store(0, std::memory_order_relaxed);
  if (known.process == 0 && claim()) known.process = getpid();
  const bool is_ours = known.process == getpid();
  known.ready.store(is_ours && read_tables(known), std::memory_order_relaxed);
  known.generation.store(generation(), std::memory_order_release);
}

[[nodiscard]] const OpInfo& inject_info() {
  static const OpInfo& info = named_info(EventKind::op, kInject);
  return info;
}

[[nodiscard]] std::uint64_t signature_of(const Thread& thread, const OpInfo& info,
                                         c10::ArrayRef<const c10::IValue> inputs) {
  injection::CallSignature signature;
  signature.add_name(info.name);
  signature.add_name(info.overload);
  const Frame* const around = innermost_event(thread, thread.frames.size());
  signature.add_name(around == nullptr ? std::string_view() : std::string_view(around->info->name));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for_each_tensor(inputs[i], [&](const at::Tensor& tensor, std::uint16_t element) {
      if (!tensor.defined() || !has_shape(tensor, tensor.layout())) return;
      signature.add_tensor(static_cast<std::uint16_t>(i), element,
                           static_cast<std::int8_t>(tensor.scalar_type()),
                           {tensor.sizes().data(), tensor.sizes().size()});
    });
  return signature.value();
}

/// Its calls that no other one encloses.
[[nodiscard]] std::pmr::vector<std::uint64_t> outermost_calls(std::uint64_t first,
                                                              std::uint64_t count) {
  std::pmr::vector<std::uint64_t> calls(&process_memory());
  for (std::uint64_t call = first; call < first + count; call += 1 + reference().calls[call].inside)
    calls.push_back(call);
  return calls;
}

void take_lane(ReferenceLane& lane, std::uint64_t first, std::uint64_t count) {
  lane.calls = outermost_calls(first, count);
  std::pmr::vector<std::uint64_t> signatures(&process_memory());
  for (const std::uint64_t call : lane.calls)
    signatures.push_back(reference().calls[call].signature);
  lane.alignment.emplace(std::move(signatures));
}

/// Main threads have each other's lanes; other threads, and backward, the first one that begins as
/// they do.
void choose_lane(ReferenceLane& lane, std::uint64_t signature, bool backward) {
  Reference& known = reference();
  const std::lock_guard guard(known.mutex);
  const bool is_main = getpid() == gettid();
  const bool by_name = is_main && !backward;
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < known.lanes.size(); first += known.lanes[i++].calls) {
    const injection::Lane& other = known.lanes[i];
    if (known.lanes_taken[i] || other.calls == 0 || (other.is_backward != 0) != backward) continue;
    if (!backward && (other.is_main != 0) != is_main) continue;
    if (!by_name && known.calls[first].signature != signature) continue;
    known.lanes_taken[i] = true;
    return take_lane(lane, first, other.calls);
  }
}

[[nodiscard]] Frame* op_around(Thread& thread) {
  const auto op =
      std::find_if(thread.frames.rbegin(), thread.frames.rend(),
                   [](const Frame& frame) { return frame.info->kind == EventKind::op; });
  return op == thread.frames.rend() ? nullptr : &*op;
}

/// The next call inside of the one that the op around has.
[[nodiscard]] std::uint64_t find_inside(ReferenceCall& around, std::uint64_t signature) {
  if (around.number == ring::kNone) return ring::kNone;
  const auto& calls = reference().calls;
  const std::uint64_t first = around.number + 1;
  for (std::uint64_t k = around.passed; k < calls[around.number].inside;) {
    const std::uint64_t call = first + k;
    k += 1 + calls[call].inside;
    if (calls[call].signature != signature) continue;
    around.passed = k;
    return call;
  }
  return ring::kNone;
}

[[nodiscard]] std::uint64_t find_call(Thread& thread, std::uint64_t signature) {
  if (Frame* const around = op_around(thread)) return find_inside(around->in_reference, signature);
  const Frame* const parent = parent_of(thread);
  const bool backward = parent != nullptr && (parent->flags & event_flag::in_backward) != 0;
  ReferenceLane& lane = thread.in_reference[backward ? 1 : 0];
  if (!lane.alignment) choose_lane(lane, signature, backward);
  if (!lane.alignment) return ring::kNone;
  const std::optional<std::uint64_t> call = lane.alignment->next(signature);
  return call ? lane.calls[*call] : ring::kNone;
}

[[nodiscard]] const injection::Value* find_value(const injection::Call& call, Role role,
                                                 std::uint16_t index, std::uint16_t element) {
  const std::span values = std::span(reference().values).subspan(call.first_value, call.values);
  const auto found = std::find_if(values.begin(), values.end(), [&](const injection::Value& value) {
    return value.role == static_cast<std::uint8_t>(role) && value.index == index &&
           value.element == element;
  });
  return found == values.end() ? nullptr : &*found;
}

[[nodiscard]] bool has_digest(const injection::Value& value, const Digest& digest) {
  return value.digest[0] == digest.high && value.digest[1] == digest.low;
}

/// Where the elements of a tensor with gaps are, in the order in which they are packed.
template <class Visit>
bool visit_pieces(const Content& content, std::span<const std::int64_t> packed, Visit&& visit) {
  std::pmr::vector<std::size_t> order(&process_memory());
  for (std::size_t i = 0; i < packed.size(); ++i)
    if (packed[i] != 0) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return packed[a] > packed[b]; });
  const auto& [data, element_size, sizes, strides] = content.bytes;
  std::size_t run = element_size;
  while (!order.empty() && static_cast<std::size_t>(strides[order.back()]) * element_size == run) {
    run *= static_cast<std::size_t>(sizes[order.back()]);
    order.pop_back();
  }
  std::pmr::vector<std::int64_t> at(order.size(), 0, &process_memory());
  while (true) {
    std::int64_t offset = 0;
    for (std::size_t k = 0; k < order.size(); ++k) offset += at[k] * strides[order[k]];
    auto* const piece =
        const_cast<std::byte*>(data) + offset * static_cast<std::int64_t>(element_size);
    if (!visit(iovec{piece, run})) return false;
    std::size_t k = order.size();
    while (k > 0 && ++at[k - 1] == sizes[order[k - 1]]) at[--k] = 0;
    if (k == 0) return true;
  }
}

/// A tensor whose memory can be read and written here, on the host or on a device.
class Target {
 public:
  Target(Thread& thread, const at::Tensor& tensor)
      : thread_(thread), tensor_(tensor), content_(content_of(tensor)) {}

  [[nodiscard]] const Content& content() const noexcept { return content_; }

  /// Of what it holds now; empty if that cannot be read.
  [[nodiscard]] std::optional<Digest> digest() {
    if (is_readable(tensor_)) return digest_of_value(thread_, tensor_, content_);
    const std::span<std::byte> copy = packed();
    if (!content_.plain() || !copy_from_device(copy)) return std::nullopt;
    return ulpscope::digest(copy);
  }

  [[nodiscard]] bool fill(const injection::Value& value,
                          std::span<const std::int64_t> packed_steps) {
    if (is_readable(tensor_))
      return content_.dense ? fill_at_once(value) : fill_in_pieces(value, packed_steps);
    std::array<iovec, 1> whole{{{packed().data(), content_.dense_size}}};
    return content_.dense && ValueFile().read(value.offset, whole) && copy_to_device(packed());
  }

 private:
  [[nodiscard]] std::span<std::byte> packed() {
    thread_.packed.resize(std::max(thread_.packed.size(), content_.dense_size));
    return std::span(thread_.packed).first(content_.dense_size);
  }

  [[nodiscard]] std::byte* memory() const noexcept {
    return const_cast<std::byte*>(content_.bytes.data);
  }

  [[nodiscard]] bool copy_from_device(std::span<std::byte> to) const {
    DeviceBackend* const backend = device_backend();
    return backend != nullptr &&
           backend->copy(to.data(), memory(), to.size(), tensor_.device().index());
  }

  [[nodiscard]] bool copy_to_device(std::span<const std::byte> from) const {
    DeviceBackend* const backend = device_backend();
    return backend != nullptr &&
           backend->copy(memory(), from.data(), from.size(), tensor_.device().index());
  }

  [[nodiscard]] bool fill_at_once(const injection::Value& value) const {
    std::array<iovec, 1> whole{{{memory(), content_.dense_size}}};
    return ValueFile().read(value.offset, whole);
  }

  [[nodiscard]] bool fill_in_pieces(const injection::Value& value,
                                    std::span<const std::int64_t> packed_steps) const {
    const ValueFile file;
    std::array<iovec, 256> pieces{};
    std::size_t count = 0;
    std::uint64_t offset = value.offset;
    const auto flush = [&] {
      std::uint64_t bytes = 0;
      for (std::size_t k = 0; k < count; ++k) bytes += pieces[k].iov_len;
      const bool done = file.read(offset, std::span(pieces).first(count));
      offset += bytes;
      count = 0;
      return done;
    };
    const bool visited = visit_pieces(content_, packed_steps, [&](const iovec& piece) {
      pieces[count++] = piece;
      return count < pieces.size() || flush();
    });
    return visited && (count == 0 || flush());
  }

  Thread& thread_;
  const at::Tensor& tensor_;
  Content content_;
};

[[nodiscard]] bool can_be_reached(const at::Tensor& tensor) {
  return tensor.defined() && (is_readable(tensor) || is_on_device(tensor)) &&
         !tensor.is_quantized() && !tensor.unsafeGetTensorImpl()->is_wrapped_number();
}

/// A file that is mapped, an array of NumPy: that is not the run's to change.
[[nodiscard]] bool is_of_program(const at::Tensor& tensor) {
  const std::lock_guard guard(storages());
  return storages().at(*tensor.storage().unsafeGetStorageImpl()).foreign;
}

/// The event that gives the values of one op.
class Injection {
 public:
  explicit Injection(Thread& thread) : thread_(thread) {}
  Injection(const Injection&) = delete;
  Injection& operator=(const Injection&) = delete;
  ~Injection() = default;

  /// Gives a tensor the value, if it has another one. True if it has it now.
  [[nodiscard]] bool give(const at::Tensor& tensor, const injection::Value& value) {
    if (!can_be_reached(tensor)) return false;
    Target target(thread_, tensor);
    const Content& content = target.content();
    const std::optional<Digest> now = target.digest();
    if (now && has_digest(value, *now)) return true;
    if (!now || value.offset == 0 || content.conj || content.neg || is_of_program(tensor))
      return false;
    const auto packed = packed_strides(content.bytes.sizes, content.bytes.strides);
    const auto dtype = static_cast<std::int8_t>(tensor.scalar_type());
    if (injection::layout_of(dtype, content.bytes.sizes, packed) != value.layout ||
        packed_size(content.bytes) != value.bytes || !target.fill(value, packed))
      return false;
    if (!begun_) begin();
    const Writer writer{thread_.frames.back().position, thread_.lane(), thread_.moment};
    const Place place{Role::mutated, value.index, value.element};
    ring::SlotRow row = see_written(thread_, tensor, place, writer, /*already_written=*/false).row;
    reference().given.fetch_add(1, std::memory_order_relaxed);
    row.flags &= ~slot_flag::parameter;  // it is no update: no optimizer steps here
    thread_.slots.push_back(row);
    const std::optional<Digest> given = target.digest();
    return given && has_digest(value, *given);
  }

  void end() {
    if (begun_) end_innermost(thread_);
  }

 private:
  void begin() {
    begun_ = true;
    Frame frame = new_event(thread_, inject_info());
    frame.trusted = true;
    frame.flags &= ~event_flag::grad_mode;
    frame.first_storage = storages().next_id();
    thread_.frames.push_back(std::move(frame));
  }

  Thread& thread_;
  bool begun_ = false;
};

[[nodiscard]] bool is_read(const OpInfo& info, std::size_t index) {
  const Access access = index < info.arguments.size() ? info.arguments[index].access : Access::read;
  return access == Access::read || access == Access::written;
}

/// What the op reads without having it given.
[[nodiscard]] bool reads_the_same(Thread& thread, const OpInfo& info, const injection::Call& call,
                                  c10::ArrayRef<const c10::IValue> inputs) {
  bool same = true;
  for (std::size_t i = 0; i < inputs.size() && same; ++i) {
    if (!is_read(info, i)) continue;
    for_each_tensor(inputs[i], [&](const at::Tensor& tensor, std::uint16_t element) {
      const auto* const value =
          find_value(call, Role::input, static_cast<std::uint16_t>(i), element);
      if (value == nullptr || !same || !can_be_reached(tensor)) return;
      const std::optional<Digest> now = Target(thread, tensor).digest();
      same = now && has_digest(*value, *now);
    });
  }
  return same;
}

}  // namespace

namespace detail {

std::atomic<bool> injection_switch{false};

bool is_given_values() noexcept {
  const Reference& known = reference();
  if (known.generation.load(std::memory_order_acquire) != generation()) prepare();
  return known.ready.load(std::memory_order_relaxed) && known.process == getpid();
}

}  // namespace detail

void begin_injection() noexcept {
  detail::injection_switch.store(!settings().injection.view().empty(), std::memory_order_relaxed);
}

ReferenceCall inject_inputs(Thread& thread, const OpInfo& info,
                            c10::ArrayRef<const c10::IValue> inputs) {
  ReferenceCall found{.number = find_call(thread, signature_of(thread, info, inputs))};
  reference().ops.fetch_add(1, std::memory_order_relaxed);
  if (found.number == ring::kNone) return found;
  reference().found.fetch_add(1, std::memory_order_relaxed);
  if (is_in_kernel(thread)) return found;
  const injection::Call& call = reference().calls[found.number];
  const ValuesOfOp values(thread, info);
  if ((call.flags & injection::call_flag::gives_results) != 0) {
    found.same_inputs = reads_the_same(thread, info, call, inputs);
    return found;
  }
  if ((call.flags & injection::call_flag::gives_inputs) == 0) return found;
  Injection given(thread);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_read(info, i)) continue;
    const auto index = static_cast<std::uint16_t>(i);
    for_each_tensor(inputs[i], [&](const at::Tensor& tensor, std::uint16_t element) {
      if (const auto* const value = find_value(call, Role::input, index, element))
        static_cast<void>(given.give(tensor, *value));
    });
  }
  given.end();
  return found;
}

void inject_results(Thread& thread, const ReferenceCall& call, c10::ArrayRef<LeftByOp> left) {
  if (call.number == ring::kNone || !call.same_inputs) return;
  Injection given(thread);
  for (const LeftByOp& one : left)
    if (const auto* const value =
            find_value(reference().calls[call.number], one.role, one.index, one.element))
      static_cast<void>(given.give(one.tensor, *value));
  given.end();
}

void tell_injection(Thread& thread) {
  if (!injects()) return;
  const Reference& known = reference();
  const std::uint64_t given = known.given.load(std::memory_order_relaxed);
  const std::uint64_t alone =
      known.ops.load(std::memory_order_relaxed) - known.found.load(std::memory_order_relaxed);
  std::pmr::string text(&process_memory());
  if (known.found.load(std::memory_order_relaxed) == 0) {
    text = "no op has its call in the other run (--inject): nothing was given";
  } else {
    text = std::to_string(given);
    text += given == 1 ? " value of another run was" : " values of another run were";
    text += " given to its ops (--inject)";
    text += given == 0 ? ", nothing differed" : ": its results are not its own";
    if (alone > 0) text += "; " + std::to_string(alone) + " of its ops have no call there";
  }
  thread.send_notice(text, /*fatal=*/false);
}

}  // namespace ulpscope::capture
