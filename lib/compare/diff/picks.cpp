#include "compare/diff/picks.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "compare/model/words.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::size_t kMostDistances = 2;

[[nodiscard]] const std::string& text_of(const ArgumentReport& argument, Side side) {
  return side == Side::reference ? *argument.reference : *argument.candidate;
}

void count(Picks& picks, Side side, const std::string& place, std::uint64_t times) {
  auto& known = on(picks.places, side);
  if (known.size() < Picks::kMostPlaces || known.contains(place))
    known[place] += times;
  else
    picks.overflowed = true;
}

void note_distance(Picks& picks, double distance) {
  if (picks.distances.size() < kMostDistances) picks.distances.insert(distance);
}

}  // namespace

void Picks::add(const std::vector<ArgumentReport>& arguments) {
  if (arguments.empty()) return;
  for (const Side side : kSides) {
    std::string place;
    for (const ArgumentReport& argument : arguments)
      place += argument.name + ' ' + text_of(argument, side) + ' ';
    count(*this, side, place, 1);
  }
  const ArgumentReport& first = arguments.front();
  note_distance(*this, *number_in(*first.candidate) - *number_in(*first.reference));
}

void Picks::add(const Picks& others) {
  overflowed = overflowed || others.overflowed;
  for (const Side side : kSides)
    for (const auto& [place, times] : on(others.places, side)) count(*this, side, place, times);
  for (const double distance : others.distances) note_distance(*this, distance);
}

bool Picks::in_another_order() const {
  return !overflowed && places.reference.size() > 1 && places.reference == places.candidate;
}

bool pick_a_part(const Event& op, const std::vector<ArgumentReport>& arguments) {
  static constexpr auto kPlaces =
      std::to_array<std::string_view>({"index", "start", "end", "length"});
  return facts::Op(op.op).has(facts::fact::picks) &&
         std::ranges::all_of(arguments, [](const ArgumentReport& argument) {
           return std::ranges::find(kPlaces, argument.name) != kPlaces.end() &&
                  number_in(argument.reference.value_or("")) &&
                  number_in(argument.candidate.value_or(""));
         });
}

}  // namespace ulpscope::comparison
