#include "capture/reference_values.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "capture/recorder.hpp"

namespace ulpscope::capture {
namespace {

namespace injection = ring::injection;

/// Fills a table, and goes on behind it.
template <class T>
[[nodiscard]] bool read_table(const ValueFile& file, std::uint64_t& offset,
                              std::pmr::vector<T>& items) {
  if (items.empty()) return true;
  std::array<iovec, 1> all{{{items.data(), items.size() * sizeof(T)}}};
  if (!file.read(offset, all)) return false;
  offset += items.size() * sizeof(T);
  return true;
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
  return read_table(file, offset, into.lanes) && read_table(file, offset, into.calls) &&
         read_table(file, offset, into.values);
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

}  // namespace

ValueFile::ValueFile() : descriptor_(open(settings().injection.bytes, O_RDONLY | O_CLOEXEC)) {}

ValueFile::~ValueFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool ValueFile::read(std::uint64_t offset, std::span<iovec> pieces) const {
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

Reference& reference() {
  static Reference& instance = immortal<Reference>();
  return instance;
}

bool is_given_values() noexcept {
  const Reference& known = reference();
  if (known.generation.load(std::memory_order_acquire) != generation()) prepare();
  return known.ready.load(std::memory_order_relaxed) && known.process == getpid();
}

const injection::Value* find_value(const injection::Call& call, Role role, std::uint16_t index,
                                   std::uint16_t element) {
  const std::span values = std::span(reference().values).subspan(call.first_value, call.values);
  const auto found = std::find_if(values.begin(), values.end(), [&](const injection::Value& value) {
    return value.role == static_cast<std::uint8_t>(role) && value.index == index &&
           value.element == element;
  });
  return found == values.end() ? nullptr : &*found;
}

}  // namespace ulpscope::capture
