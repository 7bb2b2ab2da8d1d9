#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "tensors/hdf5.hpp"
#include "tensors/hdf5_messages.hpp"
#include "tensors/memory_source.hpp"
#include "tests/fuzz/fuzzer.hpp"
#include "ulpscope/compare_tensors.hpp"
#include "ulpscope/error.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::tensors;

/// The other end of a socket: says what it is given, whatever it is asked.
class Child {
 public:
  explicit Child(std::string_view says) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    parent_ = ends[0];
    talker_ = std::thread([socket = ends[1], says] {
      for (std::size_t at = 0; at < says.size();) {
        const ssize_t sent = ::send(socket, says.data() + at, says.size() - at, MSG_NOSIGNAL);
        if (sent <= 0) break;
        at += static_cast<std::size_t>(sent);
      }
      ::shutdown(socket, SHUT_WR);
      char asked[4096];
      while (::recv(socket, asked, sizeof(asked), 0) > 0) continue;
      ::close(socket);
    });
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  /// @pre who had its socket has closed it.
  ~Child() { talker_.join(); }

  [[nodiscard]] int socket() const noexcept { return parent_; }

 private:
  int parent_ = -1;
  std::thread talker_;
};

/// Numbers and texts of an input, zeros where it has ended.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }
  [[nodiscard]] std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  [[nodiscard]] std::string text() {
    const std::string_view taken = rest_.substr(0, byte());
    rest_.remove_prefix(taken.size());
    return std::string(taken);
  }
  /// Small ones as they are, others as a power of two and what is next to it.
  [[nodiscard]] std::int64_t size() {
    const std::uint8_t first = byte();
    if (first < 128) return first;
    return static_cast<std::int64_t>((std::uint64_t{1} << (first & 63)) + byte() - 128);
  }
  [[nodiscard]] std::vector<std::int64_t> sizes() {
    std::vector<std::int64_t> values(byte() % 8);
    for (std::int64_t& value : values) value = size();
    return values;
  }

 private:
  std::string_view rest_;
};

void say(std::string& stream, const std::string& message) {
  stream += encode_length(message.size()) + message;
}

/// A sound list of any datasets, and answers to what is asked of them.
[[nodiscard]] std::string sound_messages(std::string_view bytes) {
  Fields fields(bytes);
  std::string stream;
  const std::uint8_t answers = fields.byte();
  while (!fields.empty()) {
    const std::uint8_t what = fields.byte();
    Hdf5Entry entry;
    entry.name = fields.text();
    entry.part.dataset = entry.name;
    if (what & 1) entry.part.fields = {fields.text(), fields.text()};
    if (what & 2) entry.unreadable = fields.text();
    entry.is_text = (what & 4) != 0;
    entry.contiguous = (what & 8) != 0;
    entry.order = (what & 16) != 0 ? std::endian::big : std::endian::little;
    entry.dtype = static_cast<Dtype>(fields.byte());
    entry.shape = fields.sizes();
    entry.chunk = fields.sizes();
    entry.text = fields.text();
    entry.offset = static_cast<std::uint64_t>(fields.size());
    say(stream, encode(entry));
  }
  say(stream, encode(AnswerKind::end));
  for (int k = 0; k < answers % 16; ++k) say(stream, encode(AnswerKind::done));
  if (answers & 16) say(stream, encode_failure(AnswerKind::failed, "it is damaged"));
  return stream;
}

/// The beginning of a tensor and, unless it is long, all of it with its dimensions turned round.
/// @returns how many bytes it has.
std::uint64_t read_some(const StoredTensors& file, std::size_t index) {
  constexpr std::uint64_t kMost = 1 << 16;
  const StoredTensor& tensor = file.tensors()[index];
  if (!tensor.unreadable.empty()) return 0;
  std::vector<std::size_t> axes(tensor.shape.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  std::uint64_t size = 0;
  for (int turn = 0; turn < 2; ++turn) {
    const auto reader = file.open(index, axes);
    size = reader->size();
    const std::size_t element = std::max<std::size_t>(element_size(tensor.dtype), 1);
    std::vector<std::byte> piece(std::min(size, kMost / element * element));
    reader->read(piece);
    if (size > kMost) break;
    std::reverse(axes.begin(), axes.end());
  }
  return size;
}

}  // namespace

// What the process that calls HDF5 may say once its file has taken it over. By the first byte: all
// that it says, or what sound messages hold.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::string says = data[0] % 2 == 0 ? std::string(bytes) : sound_messages(bytes);
  Child child(says);
  try {
    StoredTensors tensors("file.h5", "hdf5");
    add_datasets(std::make_shared<Hdf5Process>("file.h5", -1, child.socket()),
                 memory_source(std::string(4096, 'x')), tensors);
    constexpr std::size_t kMostTensors = 16;
    constexpr std::uint64_t kMostBytes = 1 << 20;
    std::uint64_t held = 0;
    for (std::size_t k = 0; k < std::min(tensors.tensors().size(), kMostTensors); ++k)
      held += std::min(read_some(tensors, k), kMostBytes);
    if (held < kMostBytes && tensors.tensors().size() <= kMostTensors)
      (void)compare_tensors(tensors, tensors, {});
  } catch (const Error&) {
    // Refused, or the answers have ended.
  }
  return 0;
}
