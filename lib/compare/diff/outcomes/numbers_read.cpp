#include "compare/diff/outcomes/numbers_read.hpp"

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

/// What an op gives to the program as an array or a list.
[[nodiscard]] std::uint64_t elements_of(const Event& op) {
  KeyHash hash;
  for (const Slot& slot : op.slots)
    if (slot.role == Role::input && !(slot.flags & slot_flag::no_digest)) hash.add(slot.digest);
  return hash.value();
}

[[nodiscard]] std::uint64_t without_equal(
    const std::unordered_map<std::uint64_t, std::int64_t>& more, Side side) {
  std::int64_t count = 0;
  for (const auto& [read, times] : more)
    count += std::max<std::int64_t>(side == Side::reference ? times : -times, 0);
  return static_cast<std::uint64_t>(count);
}

}  // namespace

void NumbersRead::add(More& more, Side side, std::uint64_t read) {
  if (more.size() >= kKept)
    overflowed_ = true;
  else
    more[read] += side == Side::reference ? 1 : -1;
}

void NumbersRead::read_alone(Side side, const Event& op) {
  if (reads_number(op))
    add(numbers_, side, number_of(op));
  else if (facts::Op(op.op).has(facts::fact::leaves_run))
    add(lists_, side, elements_of(op));
}

std::uint64_t NumbersRead::replaced(Side side) const {
  std::uint64_t count = 0;
  for (const More* const more : {&numbers_, &lists_})
    if (without_equal(*more, the_other(side)) > 0) count += without_equal(*more, side);
  return count;
}

}  // namespace ulpscope::comparison
