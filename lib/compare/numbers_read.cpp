#include "compare/numbers_read.hpp"

#include <algorithm>

#include "compare/hash.hpp"

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

}  // namespace

bool gives_number(const Event& op) {
  const std::vector<Argument> all = arguments(op);
  return std::any_of(all.begin(), all.end(), [](const Argument& one) { return one.result; });
}

void NumbersRead::read(Side side, const Event& op) {
  if (!reads_number(op)) return;
  auto& numbers = on(numbers_, side);
  if (numbers.size() < kKept)
    numbers.insert(number_of(op));
  else
    overflowed_ = true;
}

void NumbersRead::read_alone(Side side, const Event& op) {
  if (!reads_number(op)) return;
  auto& alone = on(alone_, side);
  if (alone.size() < kKept)
    alone.push_back(number_of(op));
  else
    overflowed_ = true;
}

std::uint64_t NumbersRead::without_equal(Side side) const {
  const auto& alone = on(alone_, side);
  const auto& others = on(numbers_, the_other(side));
  return static_cast<std::uint64_t>(std::count_if(
      alone.begin(), alone.end(), [&](std::uint64_t number) { return !others.contains(number); }));
}

std::uint64_t NumbersRead::replaced(Side side) const {
  return without_equal(the_other(side)) == 0 ? 0 : without_equal(side);
}

}  // namespace ulpscope::comparison
