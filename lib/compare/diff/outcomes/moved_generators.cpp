#include "compare/diff/outcomes/moved_generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "compare/model/draws.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::string_view kGenerators = "end.generators";
constexpr std::string_view kOfGenerator = "end.generator.";
constexpr std::string_view kMovedTo = " -> ";
constexpr std::string_view kSeed = "seed ";
constexpr std::string_view kGeneratorWord = "generator ";
constexpr std::string_view kOwnedBy = " of the program";

struct Move {
  std::string_view before;
  std::string_view after;
};

/// By number. Nothing: it is not known.
using Moves = std::map<std::uint64_t, std::optional<Move>>;

[[nodiscard]] std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

[[nodiscard]] std::optional<Move> move_in(std::string_view words) {
  const std::size_t arrow = words.find(kMovedTo);
  if (arrow == std::string_view::npos) return std::nullopt;
  return Move{words.substr(0, arrow), words.substr(arrow + kMovedTo.size())};
}

[[nodiscard]] Moves moves_in(const std::vector<EnvironmentEntry>& entries) {
  Moves moves;
  for (const EnvironmentEntry& entry : entries) {
    std::string_view key = entry.key;
    if (!key.starts_with(kOfGenerator)) continue;
    key.remove_prefix(kOfGenerator.size());
    const auto number = whole_number(key);
    if (!number) continue;
    if (entry.value.empty())
      moves.erase(*number);
    else
      moves.insert_or_assign(*number, move_in(entry.value));
  }
  return moves;
}

/// How many have a number.
[[nodiscard]] std::string_view count_in(const std::vector<EnvironmentEntry>& entries) {
  const auto last = std::find_if(entries.rbegin(), entries.rend(),
                                 [](const auto& entry) { return entry.key == kGenerators; });
  return last == entries.rend() ? std::string_view() : std::string_view(last->value);
}

/// Seeded by the operating system, and not drawn from.
[[nodiscard]] bool is_drawn_seed(std::string_view state) {
  if (!state.starts_with(kSeed)) return false;
  const auto seed = whole_number(state.substr(kSeed.size()));
  return seed && looks_drawn(*seed);
}

/// Where only one run has moved it, the other leaves it as both had it before.
[[nodiscard]] std::optional<MovedGenerator> moved_apart(std::uint64_t number,
                                                        const std::optional<Move>* reference,
                                                        const std::optional<Move>* candidate) {
  for (const auto* const move : {reference, candidate})
    if (move != nullptr && !move->has_value()) return std::nullopt;
  const std::string_view left = reference != nullptr ? (*reference)->after : (*candidate)->before;
  const std::string_view right = candidate != nullptr ? (*candidate)->after : (*reference)->before;
  if (left == right || (is_drawn_seed(left) && is_drawn_seed(right))) return std::nullopt;
  return MovedGenerator{.name = fmt::format("{}{}{}", kGeneratorWord, number, kOwnedBy),
                        .left = {std::string(left), std::string(right)},
                        .moved = {reference != nullptr, candidate != nullptr}};
}

[[nodiscard]] const std::optional<Move>* move_of(const Moves& moves, std::uint64_t number) {
  const auto found = moves.find(number);
  return found == moves.end() ? nullptr : &found->second;
}

}  // namespace

std::vector<MovedGenerator> moved_generators(const std::vector<EnvironmentEntry>& reference,
                                             const std::vector<EnvironmentEntry>& candidate) {
  const std::string_view count = count_in(reference);
  if (count.empty() || count != count_in(candidate)) return {};
  const Moves left = moves_in(reference);
  const Moves right = moves_in(candidate);
  std::set<std::uint64_t> numbers;
  for (const Moves* const moves : {&left, &right})
    for (const auto& [number, move] : *moves) numbers.insert(number);
  std::vector<MovedGenerator> moved;
  for (const std::uint64_t number : numbers)
    if (auto one = moved_apart(number, move_of(left, number), move_of(right, number)))
      moved.push_back(std::move(*one));
  return moved;
}

bool is_moved_generator(std::string_view name) {
  return name.starts_with(kGeneratorWord) && name.ends_with(kOwnedBy);
}

}  // namespace ulpscope::comparison
