#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Pickles that only describe data. Nothing is imported and nothing is called: a machine for the
/// opcodes that torch.save and torch.jit.save write, in protocols 2 to 5, builds a tree of values,
/// in which a call of a global is a value that names it.
namespace ulpscope::tensors {

/// A value's place in PickledValues. Values are shared, and may hold themselves.
using ValueId = std::uint32_t;

enum class PickledKind : std::uint8_t {
  none,
  truth,
  integer,
  real,
  text,       ///< or bytes
  sequence,   ///< a tuple or list: `items`
  mapping,    ///< a dictionary: keys and values in turns in `items`
  global,     ///< a function or class: `text` is "torch._utils._rebuild_tensor_v2"
  call,       ///< of the global items[0] with the arguments items[1], a sequence
  persistent  ///< what the archive holds outside of the pickle: items[0] says which
};

struct PickledValue {
  PickledKind kind = PickledKind::none;
  std::int64_t integer = 0;  ///< of `truth` too
  double real = 0;
  std::string text;
  std::vector<ValueId> items;
  /// Of a call: keys and values that were set on its result, in turns.
  std::vector<ValueId> entries;
  /// Of a call: the state it was given (BUILD), a value.
  std::vector<ValueId> state;
};

class PickledValues {
 public:
  [[nodiscard]] const PickledValue& at(ValueId id) const { return values_.at(id); }
  [[nodiscard]] std::span<const PickledValue> all() const noexcept { return values_; }
  [[nodiscard]] ValueId root() const noexcept { return root_; }
  /// Of the pickle, its end included: another one may follow.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  friend class PickleMachine;
  std::vector<PickledValue> values_;
  ValueId root_ = 0;
  std::size_t bytes_ = 0;
};

/// Why a pickle was refused, to follow "its pickle ".
class PickleRefused {
 public:
  explicit PickleRefused(std::string why) : why_(std::move(why)) {}
  [[nodiscard]] const std::string& why() const noexcept { return why_; }

 private:
  std::string why_;
};

/// The pickle that some bytes begin with.
/// @throws PickleRefused of an opcode that is not one of those, a global that `is_allowed` does not
/// know, or a pickle that is damaged.
[[nodiscard]] PickledValues read_pickle(std::string_view bytes,
                                        bool (*is_allowed)(std::string_view global));

}  // namespace ulpscope::tensors
