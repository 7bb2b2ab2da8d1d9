#include "compare/diff/numbers_read.hpp"

#include <algorithm>

#include "compare/model/hash.hpp"
#include "compare/model/structure.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] std::uint64_t number_of(const Event& op) {
  KeyHash hash;
  for (const Argument& argument : arguments(op))
    if (argument.result) hash.add(argument.text);
  return hash.value();
}

/// The op makes no tensor of what it reads, but a number.
[[nodiscard]] bool reads_number(const Event& op) {
  const bool reads_alone = std::all_of(op.slots.begin(), op.slots.end(),
                                       [](const Slot& slot) { return slot.role == Role::input; });
  return op.kind == EventKind::op && !op.slots.empty() && reads_alone && gives_number(op);
}

/// What an op hands to the program as an array or a list.
[[nodiscard]] std::uint64_t elements_of(const Event& op) {
  KeyHash hash;
  for (const Slot& slot : op.slots)
    if (slot.role == Role::input && !(slot.flags & slot_flag::no_digest)) hash.add(slot.digest);
  return hash.value();
}

}  // namespace

void NumbersRead::read_alone(Side side, const Event& op) {
  const bool number = reads_number(op);
  if (!number && !facts::Op(op.op).has(facts::fact::leaves_run)) return;
  if (more_.size() >= kKept) {
    overflowed_ = true;
    return;
  }
  more_[number ? number_of(op) : elements_of(op)] += side == Side::reference ? 1 : -1;
}

std::uint64_t NumbersRead::without_equal(Side side) const {
  std::int64_t count = 0;
  for (const auto& [number, more] : more_)
    count += std::max<std::int64_t>(side == Side::reference ? more : -more, 0);
  return static_cast<std::uint64_t>(count);
}

std::uint64_t NumbersRead::replaced(Side side) const {
  return without_equal(the_other(side)) == 0 ? 0 : without_equal(side);
}

}  // namespace ulpscope::comparison
