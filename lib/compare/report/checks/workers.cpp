#include "compare/report/checks/workers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "compare/model/words.hpp"
#include "core/counts.hpp"
#include "core/number_text.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::size_t kMostNumbers = 64;  ///< of an argument
constexpr std::size_t kNamed = 4;

/// By op and argument, what a process gave to it one after the other: numbers that are not whole.
using Numbers = std::map<std::pair<std::string, std::string>, std::vector<std::string>>;

[[nodiscard]] bool is_fraction(const std::string& text) {
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() &&
         number != std::floor(number);
}

/// A number that travels as a tensor, if its bytes are known.
[[nodiscard]] std::string number_in(const Run& run, std::uint32_t rank, const Slot& slot) {
  const Dtype dtype = slot.geometry->dtype;
  const auto bytes = run.content(rank, slot.digest);
  std::uint64_t bits = 0;
  if (!bytes || is_complex(dtype) || bytes->size() != core::number_bits(dtype) / 8 ||
      bytes->size() > sizeof bits)
    return {};
  std::memcpy(&bits, bytes->data(), bytes->size());
  return core::number_text(dtype, bits);
}

[[nodiscard]] Numbers numbers_of(const Run& run, std::uint32_t rank) {
  Numbers numbers;
  for (const Lane& lane : run.lanes(rank))
    for (std::size_t i = 0; i < run.block_count(rank, lane.id); ++i) {
      const Block block = run.block(rank, lane.id, i);
      for (const Event& event : block.events) {
        if (event.kind != EventKind::op) continue;
        const auto add = [&](std::string_view argument, std::string number) {
          if (!is_fraction(number)) return;
          auto& given = numbers[{std::string(event.op), std::string(argument)}];
          if (given.size() < kMostNumbers) given.push_back(std::move(number));
        };
        for (const Argument& argument : arguments(event))
          if (!argument.result) add(argument.name, argument.text);
        for (const Slot& slot : event.slots)
          if (slot.role == Role::input && (slot.flags & slot_flag::wrapped_number) != 0 &&
              (slot.flags & slot_flag::no_digest) == 0 && slot.geometry != nullptr)
            add(std::to_string(slot.index), number_in(run, rank, slot));
      }
    }
  return numbers;
}

/// The numbers that both gave to an argument in the same order, if they are drawn: a constant of
/// the program is one number.
[[nodiscard]] const std::vector<std::string>* shared(const Numbers& one, const Numbers& other) {
  for (const auto& [place, numbers] : one) {
    const auto at = other.find(place);
    if (at == other.end()) continue;
    const bool less = numbers.size() < at->second.size();
    const std::vector<std::string>& shorter = less ? numbers : at->second;
    const std::vector<std::string>& longer = less ? at->second : numbers;
    const bool drawn = std::set<std::string>(shorter.begin(), shorter.end()).size() > 1;
    if (drawn && std::equal(shorter.begin(), shorter.end(), longer.begin())) return &shorter;
  }
  return nullptr;
}

}  // namespace

bool is_created(const Run& run, std::uint32_t rank) {
  const RankIdentity process = run.identity(rank);
  return process.creator && process.declared.empty();
}

Check check_workers(const Run& run) {
  std::map<std::uint32_t, std::map<std::uint32_t, Numbers>> of_creator;
  for (const std::uint32_t rank : run.ranks())
    if (is_created(run, rank))
      of_creator[*run.identity(rank).creator].emplace(rank, numbers_of(run, rank));
  Check check{
      "workers", Check::Result::ok, "no process that a rank created has another one's numbers", {}};
  std::size_t found = 0;
  for (const auto& [creator, ranks] : of_creator)
    for (auto one = ranks.begin(); one != ranks.end(); ++one)
      for (auto other = std::next(one); other != ranks.end(); ++other) {
        const auto* const numbers = shared(one->second, other->second);
        if (numbers == nullptr || ++found > kNamed) continue;
        check.details.push_back(
            fmt::format("rank {} and rank {}: {}", one->first, other->first, listed(*numbers, 4)));
      }
  if (found == 0) return check;
  check.result = Check::Result::look;
  check.text =
      "processes of one rank, as workers that load data, use the same numbers in the same order: "
      "they have copies of one generator, or seed it alike";
  return check;
}

}  // namespace ulpscope::comparison
