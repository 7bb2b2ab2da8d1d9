#include "compare/align/window_cut.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <utility>

#include "compare/model/structure.hpp"

namespace ulpscope::comparison {
namespace {

/// Partners this close to the end of a piece may change when the next piece is known.
constexpr std::size_t kUnsettledEntries = 256;
/// Partners in a row that are not a coincidence although their values differ.
constexpr std::size_t kRow = 8;

[[nodiscard]] const Event& event_of(const Window& window, std::uint32_t item) {
  return window.event(window.items()[item].event);
}

[[nodiscard]] bool same_values(const Event& a, const Event& b) {
  const std::uint64_t outputs = output_key(a);
  return outputs != 0 && outputs == output_key(b) && input_key(a) == input_key(b);
}

/// The structure of each op among the items.
[[nodiscard]] std::unordered_set<std::uint64_t> structures(const Window& window) {
  std::unordered_set<std::uint64_t> keys;
  for (const Item& item : window.items())
    if (item.op) keys.insert(structure_key(window.event(item.event), Place::counts));
  return keys;
}

/// Reads the next piece of a step; false at its end.
[[nodiscard]] bool read_piece(std::optional<LaneReader>& reader, std::int64_t step,
                              std::size_t events, Window& piece) {
  if (!reader) return false;
  std::vector<HeldEvent> held;
  reader->read(step, events, held);
  if (held.empty()) return false;
  piece = Window(std::move(held), true);
  return true;
}

}  // namespace

std::size_t settled_entries(const std::vector<Entry>& entries, const Both<const Window*>& windows) {
  const auto settles = [&](std::size_t k) {
    if (!entries[k].aligned()) return false;
    const bool row =
        k + 1 >= kRow && std::all_of(entries.begin() + static_cast<std::ptrdiff_t>(k + 1 - kRow),
                                     entries.begin() + static_cast<std::ptrdiff_t>(k + 1),
                                     [](const Entry& entry) { return entry.aligned(); });
    return row || same_values(event_of(*windows.reference, entries[k].reference),
                              event_of(*windows.candidate, entries[k].candidate));
  };
  const auto last_before = [&](std::size_t end) {
    while (end > 0 && !settles(end - 1)) --end;
    return end;
  };
  const std::size_t settled =
      last_before(entries.size() - std::min(entries.size() / 2, kUnsettledEntries));
  return settled > 0 ? settled : last_before(entries.size());
}

std::optional<Side> side_that_comes_back(const Both<const Window*>& windows,
                                         Both<std::optional<LaneReader>> readers,
                                         const Both<std::int64_t>& step, std::size_t events) {
  const Both<std::unordered_set<std::uint64_t>> known{structures(*windows.reference),
                                                      structures(*windows.candidate)};
  Both<bool> more{true, true};
  Window piece({}, true);
  while (more.reference || more.candidate) {
    for (const Side side : kSides) {
      const Side other = the_other(side);
      if (!on(more, side)) continue;
      on(more, side) = read_piece(on(readers, side), on(step, side), events, piece);
      if (!on(more, side)) continue;
      const auto shared =
          std::count_if(piece.items().begin(), piece.items().end(), [&](const Item& item) {
            return item.op &&
                   on(known, other).contains(structure_key(piece.event(item.event), Place::counts));
          });
      if (static_cast<std::size_t>(shared) >= kRow) return side;
    }
  }
  return std::nullopt;
}

}  // namespace ulpscope::comparison
