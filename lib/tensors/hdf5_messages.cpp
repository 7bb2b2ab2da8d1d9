#include "tensors/hdf5_messages.hpp"

#include <stdexcept>
#include <utility>

namespace ulpscope::tensors {
namespace {

constexpr std::size_t kLongestFailure = 1000;

/// Numbers, texts and lists as bytes. Both ends are the same program.
class MessageWriter {
 public:
  void number(std::uint64_t value) {
    for (int k = 0; k < 8; ++k) bytes_.push_back(static_cast<char>((value >> (8 * k)) & 0xff));
  }
  void text(std::string_view value) {
    number(value.size());
    bytes_.append(value);
  }
  void sizes(const std::vector<std::int64_t>& values) {
    number(values.size());
    for (const std::int64_t value : values) number(static_cast<std::uint64_t>(value));
  }
  void part(const Hdf5Part& part) {
    text(part.dataset);
    number(part.fields.size());
    for (const std::string& field : part.fields) text(field);
  }
  [[nodiscard]] std::string bytes() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] std::uint64_t number() {
    std::uint64_t value = 0;
    const std::string_view bytes = take(8);
    for (std::size_t k = 8; k-- > 0;) value = (value << 8) | static_cast<unsigned char>(bytes[k]);
    return value;
  }
  [[nodiscard]] std::string text() { return std::string(take(number())); }
  [[nodiscard]] std::vector<std::int64_t> sizes() {
    std::vector<std::int64_t> values;
    for (std::uint64_t left = number(); left > 0; --left)
      values.push_back(static_cast<std::int64_t>(number()));
    return values;
  }
  [[nodiscard]] Hdf5Part part() {
    Hdf5Part part{text(), {}};
    for (std::uint64_t left = number(); left > 0; --left) part.fields.push_back(text());
    return part;
  }

 private:
  [[nodiscard]] std::string_view take(std::uint64_t bytes) {
    if (bytes > rest_.size()) throw std::out_of_range("message");
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  std::string_view rest_;
};

[[nodiscard]] Hdf5Entry entry_in(MessageReader& message) {
  Hdf5Entry entry;
  entry.name = message.text();
  entry.part = message.part();
  entry.unreadable = message.text();
  entry.dtype = static_cast<Dtype>(message.number());
  entry.order = message.number() == 1 ? std::endian::big : std::endian::little;
  entry.shape = message.sizes();
  entry.chunk = message.sizes();
  entry.is_text = message.number() == 1;
  entry.text = message.text();
  entry.contiguous = message.number() == 1;
  entry.offset = message.number();
  return entry;
}

}  // namespace

std::string encode(const Hdf5Entry& entry) {
  MessageWriter message;
  message.number(static_cast<std::uint64_t>(AnswerKind::entry));
  message.text(entry.name);
  message.part(entry.part);
  message.text(entry.unreadable);
  message.number(static_cast<std::uint64_t>(entry.dtype));
  message.number(entry.order == std::endian::big ? 1 : 0);
  message.sizes(entry.shape);
  message.sizes(entry.chunk);
  message.number(entry.is_text ? 1 : 0);
  message.text(entry.text);
  message.number(entry.contiguous ? 1 : 0);
  message.number(entry.offset);
  return std::move(message).bytes();
}

std::string encode(const Hdf5Request& request) {
  MessageWriter message;
  message.part(request.part);
  message.sizes(request.begin);
  message.sizes(request.size);
  message.number(request.bytes);
  return std::move(message).bytes();
}

std::string encode_failure(AnswerKind kind, std::string_view what) {
  MessageWriter message;
  message.number(static_cast<std::uint64_t>(kind));
  message.text(what.substr(0, kLongestFailure));
  return std::move(message).bytes();
}

std::string encode(AnswerKind kind) {
  MessageWriter message;
  message.number(static_cast<std::uint64_t>(kind));
  return std::move(message).bytes();
}

std::string encode_length(std::uint64_t bytes) {
  MessageWriter message;
  message.number(bytes);
  return std::move(message).bytes();
}

Hdf5Answer decode_answer(std::string_view message) {
  MessageReader reader(message);
  Hdf5Answer answer;
  answer.kind = static_cast<AnswerKind>(reader.number());
  if (answer.kind == AnswerKind::entry) answer.entry = entry_in(reader);
  if (answer.kind == AnswerKind::failed || answer.kind == AnswerKind::refused)
    answer.failure = reader.text().substr(0, kLongestFailure);
  return answer;
}

Hdf5Request decode_request(std::string_view message) {
  MessageReader reader(message);
  Hdf5Request request;
  request.part = reader.part();
  request.begin = reader.sizes();
  request.size = reader.sizes();
  request.bytes = reader.number();
  return request;
}

std::uint64_t decode_length(std::string_view bytes) { return MessageReader(bytes).number(); }

}  // namespace ulpscope::tensors
