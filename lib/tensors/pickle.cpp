#include "tensors/pickle.hpp"

#include <fmt/format.h>

#include <bit>
#include <unordered_map>

namespace ulpscope::tensors {
namespace {

constexpr std::size_t kMostValues = std::size_t{1} << 23;
constexpr std::string_view kDamaged = "is damaged";

/// Python's opcodes (pickletools): those of protocol 2 that torch.load(weights_only=True) takes,
/// and what later protocols have in their place.
enum Opcode : unsigned char {
  kMark = '(',
  kStop = '.',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kEmptyList = ']',
  kEmptyTuple = ')',
  kProto = 0x80,
  kNewObj = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kBinBytes8 = 0x8e,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
};

}  // namespace

class PickleMachine {
 public:
  PickleMachine(std::string_view bytes, bool (*is_allowed)(std::string_view))
      : whole_(bytes.size()), rest_(bytes), is_allowed_(is_allowed) {}

  [[nodiscard]] PickledValues run() {
    for (;;) {
      const auto opcode = static_cast<unsigned char>(take(1).front());
      if (opcode == kStop) break;
      execute(opcode);
    }
    result_.root_ = pop();
    result_.bytes_ = whole_ - rest_.size();
    return std::move(result_);
  }

 private:
  void execute(unsigned char opcode) {
    switch (opcode) {
      case kProto:
        if (const auto version = number(1); version < 2 || version > 5)
          throw PickleRefused(fmt::format("has protocol {}, and 2 to 5 are read", version));
        return;
      case kFrame:
        // What it encloses is read as any other: it is only promised to be there.
        if (number(8) > rest_.size()) throw PickleRefused(std::string(kDamaged));
        return;
      case kNone:
        return static_cast<void>(push(PickledKind::none));
      case kNewTrue:
      case kNewFalse:
        push(PickledKind::truth).integer = opcode == kNewTrue ? 1 : 0;
        return;
      case kBinInt:
        push(PickledKind::integer).integer = static_cast<std::int32_t>(number(4));
        return;
      case kBinInt1:
        push(PickledKind::integer).integer = static_cast<std::int64_t>(number(1));
        return;
      case kBinInt2:
        push(PickledKind::integer).integer = static_cast<std::int64_t>(number(2));
        return;
      case kLong1:
        push(PickledKind::integer).integer = long_number();
        return;
      case kBinFloat:
        push(PickledKind::real).real = std::bit_cast<double>(big_endian_number());
        return;
      case kShortBinString:
      case kShortBinUnicode:
      case kShortBinBytes:
        return text(number(1));
      case kBinUnicode:
      case kBinBytes:
        return text(number(4));
      case kBinUnicode8:
      case kBinBytes8:
        return text(number(8));
      case kEmptyDict:
        return static_cast<void>(push(PickledKind::mapping));
      case kEmptyList:
      case kEmptyTuple:
        return static_cast<void>(push(PickledKind::sequence));
      case kMark:
        return marks_.push_back(stack_.size());
      case kTuple:
        return tuple(from_mark());
      case kTuple1:
        return tuple(last(1));
      case kTuple2:
        return tuple(last(2));
      case kTuple3:
        return tuple(last(3));
      case kAppend:
        return append(last(1));
      case kAppends:
        return append(from_mark());
      case kSetItem:
        return set(last(2));
      case kSetItems:
        return set(from_mark());
      case kGlobal: {
        const std::string_view module = line();
        return global(module, line());
      }
      case kStackGlobal: {
        const std::vector<ValueId> parts = last(2);
        return global(text_of(parts[0]), text_of(parts[1]));
      }
      case kReduce:
      case kNewObj:
        return call();
      case kBuild:
        return build();
      case kBinPersId: {
        const std::vector<ValueId> which = last(1);
        push(PickledKind::persistent).items = which;
        return;
      }
      case kMemoize:
        return put(memo_.size());
      case kBinPut:
        return put(number(1));
      case kLongBinPut:
        return put(number(4));
      case kBinGet:
        return get(number(1));
      case kLongBinGet:
        return get(number(4));
      default:
        throw PickleRefused(
            fmt::format("has the opcode 0x{:02x}, which no state dict needs", opcode));
    }
  }

  [[nodiscard]] std::string_view take(std::uint64_t bytes) {
    if (bytes > rest_.size()) throw PickleRefused(std::string(kDamaged));
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  [[nodiscard]] std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    const std::string_view taken = take(bytes);
    for (std::size_t k = bytes; k-- > 0;)
      value = (value << 8) | static_cast<unsigned char>(taken[k]);
    return value;
  }
  [[nodiscard]] std::uint64_t big_endian_number() {
    std::uint64_t value = 0;
    for (const char c : take(8)) value = (value << 8) | static_cast<unsigned char>(c);
    return value;
  }
  /// Of at most 8 bytes, two's complement.
  [[nodiscard]] std::int64_t long_number() {
    const std::uint64_t bytes = number(1);
    if (bytes > 8) throw PickleRefused("has a number of more than 64 bits");
    if (bytes == 0) return 0;
    const std::uint64_t value = number(bytes);
    const auto unused = static_cast<int>(64 - 8 * bytes);
    return static_cast<std::int64_t>(value << unused) >> unused;
  }
  [[nodiscard]] std::string_view line() {
    const std::size_t end = rest_.find('\n');
    if (end == rest_.npos) throw PickleRefused(std::string(kDamaged));
    const std::string_view taken = take(end);
    rest_.remove_prefix(1);
    return taken;
  }

  /// The reference is valid up to the next push.
  PickledValue& push(PickledKind kind) {
    if (result_.values_.size() == kMostValues)
      throw PickleRefused("has more than 8 million values");
    stack_.push_back(static_cast<ValueId>(result_.values_.size()));
    PickledValue& value = result_.values_.emplace_back();
    value.kind = kind;
    return value;
  }
  [[nodiscard]] std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  [[nodiscard]] ValueId pop() {
    if (stack_.size() <= floor()) throw PickleRefused(std::string(kDamaged));
    const ValueId value = stack_.back();
    stack_.pop_back();
    return value;
  }
  [[nodiscard]] std::vector<ValueId> last(std::size_t count) {
    std::vector<ValueId> values(count);
    for (std::size_t k = count; k-- > 0;) values[k] = pop();
    return values;
  }
  [[nodiscard]] std::vector<ValueId> from_mark() {
    if (marks_.empty() || marks_.back() > stack_.size()) throw PickleRefused(std::string(kDamaged));
    const std::vector<ValueId> values(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()),
                                      stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return values;
  }
  [[nodiscard]] PickledValue& top() {
    if (stack_.size() <= floor()) throw PickleRefused(std::string(kDamaged));
    return result_.values_[stack_.back()];
  }

  void text(std::uint64_t bytes) {
    const std::string_view taken = take(bytes);
    push(PickledKind::text).text = taken;
  }
  void tuple(std::vector<ValueId> items) { push(PickledKind::sequence).items = std::move(items); }
  void append(const std::vector<ValueId>& items) {
    PickledValue& target = top();
    if (target.kind != PickledKind::sequence) throw PickleRefused(std::string(kDamaged));
    target.items.insert(target.items.end(), items.begin(), items.end());
  }
  void set(const std::vector<ValueId>& items) {
    PickledValue& target = top();
    if (items.size() % 2 != 0) throw PickleRefused(std::string(kDamaged));
    if (target.kind == PickledKind::mapping)
      target.items.insert(target.items.end(), items.begin(), items.end());
    else if (target.kind == PickledKind::call)
      target.entries.insert(target.entries.end(), items.begin(), items.end());
    else
      throw PickleRefused(std::string(kDamaged));
  }
  [[nodiscard]] const std::string& text_of(ValueId id) const {
    const PickledValue& value = result_.values_[id];
    if (value.kind != PickledKind::text) throw PickleRefused(std::string(kDamaged));
    return value.text;
  }
  void global(std::string_view module, std::string_view function) {
    constexpr std::size_t kLongestName = 1024;
    if (module.size() + function.size() > kLongestName) throw PickleRefused(std::string(kDamaged));
    std::string name = fmt::format("{}.{}", module, function);
    if (!is_allowed_(name))
      throw PickleRefused(
          fmt::format("calls {}, which is not one of those that build tensors", name));
    push(PickledKind::global).text = std::move(name);
  }
  void call() {
    const std::vector<ValueId> parts = last(2);
    if (result_.values_[parts[0]].kind != PickledKind::global ||
        result_.values_[parts[1]].kind != PickledKind::sequence)
      throw PickleRefused(std::string(kDamaged));
    push(PickledKind::call).items = parts;
  }
  void build() {
    const ValueId state = pop();
    PickledValue& target = top();
    if (target.kind != PickledKind::call) throw PickleRefused(std::string(kDamaged));
    target.state = {state};
  }
  void put(std::uint64_t key) {
    static_cast<void>(top());
    memo_[key] = stack_.back();
  }
  void get(std::uint64_t key) {
    const auto known = memo_.find(key);
    if (known == memo_.end()) throw PickleRefused(std::string(kDamaged));
    stack_.push_back(known->second);
  }

  std::size_t whole_;
  std::string_view rest_;
  bool (*is_allowed_)(std::string_view);
  PickledValues result_;
  std::vector<ValueId> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, ValueId> memo_;
};

PickledValues read_pickle(std::string_view bytes, bool (*is_allowed)(std::string_view)) {
  return PickleMachine(bytes, is_allowed).run();
}

}  // namespace ulpscope::tensors
