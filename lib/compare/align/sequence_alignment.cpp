#include "compare/align/sequence_alignment.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compare/model/hash.hpp"

namespace ulpscope::comparison {
namespace {

using Elements = std::vector<SequenceElement>;
using Pair = std::pair<std::uint32_t, std::uint32_t>;

/// Half-open ranges of both sequences.
struct Stretch {
  std::uint32_t a = 0;
  std::uint32_t a_end = 0;
  std::uint32_t b = 0;
  std::uint32_t b_end = 0;

  [[nodiscard]] std::uint32_t a_size() const noexcept { return a_end - a; }
  [[nodiscard]] std::uint32_t b_size() const noexcept { return b_end - b; }
  [[nodiscard]] bool one_sided() const noexcept { return a == a_end || b == b_end; }
};

/// Where two searches from both ends of a stretch meet on a shortest edit script.
struct Middle {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t a_end = 0;
  std::int64_t b_end = 0;
  std::int64_t edits = 0;
};

class Aligner {
 public:
  Aligner(const Elements& a, const Elements& b, const AlignmentLimits& limits)
      : a_(a), b_(b), limits_(limits), a_values_(value_keys(a)), b_values_(value_keys(b)) {}

  [[nodiscard]] SequenceAlignment run() {
    align_by_value(
        {0, static_cast<std::uint32_t>(a_.size()), 0, static_cast<std::uint32_t>(b_.size())});
    std::sort(result_.pairs.begin(), result_.pairs.end());
    settle_offsets();
    return std::move(result_);
  }

 private:
  /// Elements without a partner just before a pair, or after the last one.
  struct Gap {
    std::size_t pair = 0;  ///< the first pair after it
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t a_size = 0;
    std::uint32_t b_size = 0;
  };

  [[nodiscard]] std::vector<Gap> gaps() const {
    std::vector<Gap> found;
    Gap gap;
    for (std::size_t k = 0; k <= result_.pairs.size(); ++k) {
      const bool end = k == result_.pairs.size();
      const auto a_end = end ? static_cast<std::uint32_t>(a_.size()) : result_.pairs[k].first;
      const auto b_end = end ? static_cast<std::uint32_t>(b_.size()) : result_.pairs[k].second;
      gap.pair = k;
      gap.a_size = a_end - gap.a;
      gap.b_size = b_end - gap.b;
      if (gap.a_size + gap.b_size > 0) found.push_back(gap);
      gap.a = a_end + 1;
      gap.b = b_end + 1;
    }
    return found;
  }

  /// A loop whose iterations agree in some values may be aligned with an offset: an iteration is
  /// left over on one side before it and on the other one after it. If values differ with the
  /// offset and nothing is left over without it, there is none.
  void settle_offsets() {
    const std::vector<Gap> all = gaps();
    std::vector<Pair> pairs;
    std::size_t kept = 0;  // pairs of before that are in `pairs` already
    const auto begin = result_.pairs.begin();
    for (std::size_t k = 0; k + 1 < all.size(); ++k) {
      const Gap& before = all[k];
      const Gap& after = all[k + 1];
      if (!is_offset(before, after)) continue;
      pairs.insert(pairs.end(), begin + static_cast<std::ptrdiff_t>(kept),
                   begin + static_cast<std::ptrdiff_t>(before.pair));
      const std::uint32_t count = after.a + after.a_size - before.a;
      for (std::uint32_t i = 0; i < count; ++i) pairs.emplace_back(before.a + i, before.b + i);
      kept = after.pair;
      ++k;
    }
    if (kept == 0) return;
    pairs.insert(pairs.end(), begin + static_cast<std::ptrdiff_t>(kept), result_.pairs.end());
    result_.pairs = std::move(pairs);
  }

  [[nodiscard]] bool is_offset(const Gap& before, const Gap& after) {
    const bool opposite = before.a_size == after.b_size && before.b_size == after.a_size &&
                          (before.a_size == 0) != (before.b_size == 0);
    if (!opposite || !differs_between(before.pair, after.pair)) return false;
    const std::uint32_t count = after.a + after.a_size - before.a;
    result_.operations += count;
    for (std::uint32_t i = 0; i < count; ++i)
      if (!same_structure(before.a + i, before.b + i)) return false;
    return true;
  }

  [[nodiscard]] bool differs_between(std::size_t first, std::size_t last) const {
    for (std::size_t k = first; k < last; ++k)
      if (!same_value(result_.pairs[k].first, result_.pairs[k].second)) return true;
    return false;
  }

  [[nodiscard]] static std::vector<std::uint64_t> value_keys(const Elements& elements) {
    std::vector<std::uint64_t> keys;
    keys.reserve(elements.size());
    for (const SequenceElement& e : elements)
      keys.push_back(
          KeyHash().add(e.structure).add(e.inputs).add(e.outputs).add(e.arguments).value());
    return keys;
  }

  [[nodiscard]] bool same_value(std::uint32_t i, std::uint32_t j) const {
    return a_values_[i] == b_values_[j];
  }
  [[nodiscard]] bool same_structure(std::uint32_t i, std::uint32_t j) const {
    return a_[i].structure == b_[j].structure;
  }

  void pair(std::uint32_t i, std::uint32_t j) { result_.pairs.emplace_back(i, j); }

  /// Pairs equal elements at both ends and returns the rest in between.
  template <class Same>
  [[nodiscard]] Stretch strip(Stretch s, Same same) {
    while (!s.one_sided() && same(s.a, s.b)) {
      pair(s.a++, s.b++);
      ++result_.operations;
    }
    while (!s.one_sided() && same(s.a_end - 1, s.b_end - 1)) {
      pair(--s.a_end, --s.b_end);
      ++result_.operations;
    }
    return s;
  }

  void align_by_value(Stretch s) {
    s = strip(s, [&](auto i, auto j) { return same_value(i, j); });
    if (s.one_sided() || solve_small(s)) return;
    const auto value_a = [&](std::uint32_t i) { return a_values_[i]; };
    const auto value_b = [&](std::uint32_t j) { return b_values_[j]; };
    const auto anchors = unique_anchors(s, value_a, value_b);
    if (anchors.empty()) {
      align_by_structure(s);
    } else {
      between(s, anchors, [&](Stretch inner) { align_by_structure(inner); });
    }
  }

  void align_by_structure(Stretch s) {
    s = strip(s, [&](auto i, auto j) { return same_value(i, j); });
    if (s.one_sided() || solve_small(s)) return;
    const auto structure_a = [&](std::uint32_t i) { return a_[i].structure; };
    const auto structure_b = [&](std::uint32_t j) { return b_[j].structure; };
    const auto anchors = unique_anchors(s, structure_a, structure_b);
    if (anchors.empty()) {
      search(s);
    } else {
      between(s, anchors, [&](Stretch inner) { search(inner); });
    }
  }

  /// Pairs the anchors and hands each stretch between them to `solve`.
  template <class Solve>
  void between(const Stretch& s, const std::vector<Pair>& anchors, Solve solve) {
    Stretch inner = s;
    for (const auto& [i, j] : anchors) {
      solve(Stretch{inner.a, i, inner.b, j});
      pair(i, j);
      inner.a = i + 1;
      inner.b = j + 1;
    }
    solve(inner);
  }

  /// Elements whose key occurs exactly once in each range, thinned to a longest chain that ascends
  /// on both sides.
  template <class KeyA, class KeyB>
  [[nodiscard]] std::vector<Pair> unique_anchors(const Stretch& s, KeyA key_a, KeyB key_b) {
    struct Seen {
      std::uint32_t index = 0;
      std::uint32_t in_a = 0;
      std::uint32_t in_b = 0;
    };
    std::unordered_map<std::uint64_t, Seen> seen;
    seen.reserve(s.a_size());
    for (std::uint32_t i = s.a; i < s.a_end; ++i) {
      if (a_[i].weak) continue;
      Seen& entry = seen[key_a(i)];
      entry.index = i;
      ++entry.in_a;
    }
    for (std::uint32_t j = s.b; j < s.b_end; ++j)
      if (const auto at = seen.find(key_b(j)); !b_[j].weak && at != seen.end()) ++at->second.in_b;
    result_.operations += s.a_size() + s.b_size();

    std::vector<Pair> unique;
    for (std::uint32_t j = s.b; j < s.b_end; ++j) {
      const auto at = seen.find(key_b(j));
      if (!b_[j].weak && at != seen.end() && at->second.in_a == 1 && at->second.in_b == 1)
        unique.emplace_back(at->second.index, j);
    }
    return longest_ascending(unique);
  }

  [[nodiscard]] std::vector<Pair> longest_ascending(const std::vector<Pair>& pairs) {
    std::vector<std::size_t> tails;  // index of the pair that ends the best chain of each length
    std::vector<std::size_t> before(pairs.size(), pairs.size());
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      const auto at = std::lower_bound(
          tails.begin(), tails.end(), pairs[k].first,
          [&](std::size_t tail, std::uint32_t value) { return pairs[tail].first < value; });
      if (at != tails.begin()) before[k] = *(at - 1);
      if (at == tails.end())
        tails.push_back(k);
      else
        *at = k;
    }
    result_.operations += pairs.size();
    std::vector<Pair> chain;
    for (std::size_t k = tails.empty() ? pairs.size() : tails.back(); k < pairs.size();
         k = before[k])
      chain.push_back(pairs[k]);
    std::reverse(chain.begin(), chain.end());
    return chain;
  }

  [[nodiscard]] int weight(std::uint32_t i, std::uint32_t j) const {
    if (!same_structure(i, j)) return 0;
    const SequenceElement& x = a_[i];
    const SequenceElement& y = b_[j];
    if (x.weak) return 1;
    int weight = x.marker ? 1 : x.arguments == y.arguments ? 5 : 4;
    if (x.inputs != 0 && x.inputs == y.inputs) weight += 3;
    if (x.outputs != 0 && x.outputs == y.outputs) weight += 3;
    return weight;
  }

  /// The heaviest alignment of a stretch that is small enough to try every combination.
  bool solve_small(const Stretch& s) {
    if (s.one_sided()) return true;
    const std::size_t rows = s.a_size();
    const std::size_t columns = s.b_size();
    if (rows > limits_.exact_cells / columns) return false;
    const std::size_t width = columns + 1;
    std::vector<std::int32_t> best((rows + 1) * width, 0);
    for (std::size_t i = rows; i-- > 0;) {
      for (std::size_t j = columns; j-- > 0;) {
        const int w =
            weight(s.a + static_cast<std::uint32_t>(i), s.b + static_cast<std::uint32_t>(j));
        std::int32_t value = std::max(best[(i + 1) * width + j], best[i * width + j + 1]);
        if (w > 0) value = std::max(value, best[(i + 1) * width + j + 1] + w);
        best[i * width + j] = value;
      }
    }
    result_.operations += rows * columns;
    for (std::size_t i = 0, j = 0; i < rows && j < columns;) {
      const std::uint32_t x = s.a + static_cast<std::uint32_t>(i);
      const std::uint32_t y = s.b + static_cast<std::uint32_t>(j);
      const int w = weight(x, y);
      if (w > 0 && best[i * width + j] == best[(i + 1) * width + j + 1] + w) {
        pair(x, y);
        ++i;
        ++j;
      } else if (best[i * width + j] == best[(i + 1) * width + j]) {
        ++i;
      } else {
        ++j;
      }
    }
    return true;
  }

  /// Myers' shortest edit script in linear space, using only structure.
  void search(Stretch s) {
    if (solve_small(s)) return;
    s = strip(s, [&](auto i, auto j) { return same_structure(i, j); });
    if (s.one_sided() || solve_small(s)) return;
    const std::optional<Middle> middle = find_middle(s);
    if (!middle) {
      result_.given_up += s.a_size() + s.b_size();
      return;
    }
    const auto at_a = s.a + static_cast<std::uint32_t>(middle->a);
    const auto at_b = s.b + static_cast<std::uint32_t>(middle->b);
    const auto end_a = s.a + static_cast<std::uint32_t>(middle->a_end);
    const auto end_b = s.b + static_cast<std::uint32_t>(middle->b_end);
    search({s.a, at_a, s.b, at_b});
    for (std::uint32_t k = 0; k < end_a - at_a; ++k) pair(at_a + k, at_b + k);
    search({end_a, s.a_end, end_b, s.b_end});
  }

  [[nodiscard]] std::optional<Middle> find_middle(const Stretch& s) {
    const std::int64_t n = s.a_size();
    const std::int64_t m = s.b_size();
    const std::int64_t delta = n - m;
    const bool odd = delta % 2 != 0;
    const std::int64_t limit = std::min<std::int64_t>(
        (n + m + 1) / 2, static_cast<std::int64_t>(limits_.differences / 2 + 1));
    const std::int64_t offset = limit + 1;
    std::vector<std::int64_t> forward(static_cast<std::size_t>(2 * offset + 1), 0);
    std::vector<std::int64_t> backward(static_cast<std::size_t>(2 * offset + 1), 0);
    const auto at = [&](std::vector<std::int64_t>& furthest, std::int64_t k) -> std::int64_t& {
      return furthest[static_cast<std::size_t>(k + offset)];
    };
    const auto same = [&](std::int64_t x, std::int64_t y) {
      return same_structure(s.a + static_cast<std::uint32_t>(x),
                            s.b + static_cast<std::uint32_t>(y));
    };
    for (std::int64_t d = 0; d <= limit; ++d) {
      // Diagonals outside these bounds have left the rectangle.
      const std::int64_t lowest = -(d - 2 * std::max<std::int64_t>(0, d - m));
      const std::int64_t highest = d - 2 * std::max<std::int64_t>(0, d - n);
      for (std::int64_t k = lowest; k <= highest; k += 2) {
        const bool down = k == -d || (k != d && at(forward, k - 1) < at(forward, k + 1));
        std::int64_t x = down ? at(forward, k + 1) : at(forward, k - 1) + 1;
        std::int64_t y = x - k;
        const std::int64_t x_start = x;
        const std::int64_t y_start = y;
        while (x < n && y < m && same(x, y)) {
          ++x;
          ++y;
          ++result_.operations;
        }
        ++result_.operations;
        at(forward, k) = x;
        const std::int64_t reverse = delta - k;
        if (odd && reverse >= -(d - 1) && reverse <= d - 1 && x + at(backward, reverse) >= n)
          return Middle{x_start, y_start, x, y, 2 * d - 1};
      }
      for (std::int64_t k = lowest; k <= highest; k += 2) {
        const bool down = k == -d || (k != d && at(backward, k - 1) < at(backward, k + 1));
        std::int64_t x = down ? at(backward, k + 1) : at(backward, k - 1) + 1;
        std::int64_t y = x - k;
        const std::int64_t x_start = x;
        const std::int64_t y_start = y;
        while (x < n && y < m && same(n - x - 1, m - y - 1)) {
          ++x;
          ++y;
          ++result_.operations;
        }
        ++result_.operations;
        at(backward, k) = x;
        const std::int64_t reverse = delta - k;
        if (!odd && reverse >= -d && reverse <= d && x + at(forward, reverse) >= n)
          return Middle{n - x, m - y, n - x_start, m - y_start, 2 * d};
      }
    }
    return furthest_split(s, forward, limit);
  }

  /// The point that an abandoned search has reached on the best of its diagonals, if it met many
  /// more partners than differences on the way.
  [[nodiscard]] static std::optional<Middle> furthest_split(
      const Stretch& s, const std::vector<std::int64_t>& forward, std::int64_t edits) {
    constexpr std::int64_t kPartnersPerEdit = 8;
    const auto offset = static_cast<std::int64_t>(forward.size() / 2);
    Middle best;
    for (std::int64_t k = -edits; k <= edits; k += 2) {
      const std::int64_t x = forward[static_cast<std::size_t>(k + offset)];
      const std::int64_t y = x - k;
      const bool inside = y >= 0 && x <= s.a_size() && y <= s.b_size();
      if (inside && x + y > best.a + best.b) best = {x, y, x, y, edits};
    }
    const std::int64_t partners = (best.a + best.b - edits) / 2;
    if (partners < kPartnersPerEdit * edits) return std::nullopt;
    return best;
  }

  const Elements& a_;
  const Elements& b_;
  AlignmentLimits limits_;
  std::vector<std::uint64_t> a_values_;
  std::vector<std::uint64_t> b_values_;
  SequenceAlignment result_;
};

/// The elements of a sequence that can have a partner: those whose structure the other sequence
/// has.
class Shared {
 public:
  Shared(const Elements& of, const Elements& other) {
    std::unordered_set<std::uint64_t> known;
    for (const SequenceElement& element : other) known.insert(element.structure);
    for (std::uint32_t i = 0; i < of.size(); ++i) {
      if (!known.contains(of[i].structure)) continue;
      elements_.push_back(of[i]);
      index_.push_back(i);
    }
  }
  [[nodiscard]] const Elements& elements() const noexcept { return elements_; }
  [[nodiscard]] std::uint32_t index(std::uint32_t element) const { return index_[element]; }

 private:
  Elements elements_;
  std::vector<std::uint32_t> index_;
};

}  // namespace

SequenceAlignment align(const std::vector<SequenceElement>& reference,
                        const std::vector<SequenceElement>& candidate,
                        const AlignmentLimits& limits) {
  const bool small = reference.empty() || candidate.size() <= limits.exact_cells / reference.size();
  if (small) return Aligner(reference, candidate, limits).run();
  const Shared left(reference, candidate);
  const Shared right(candidate, reference);
  SequenceAlignment alignment = Aligner(left.elements(), right.elements(), limits).run();
  alignment.operations += reference.size() + candidate.size();
  for (auto& [i, j] : alignment.pairs) {
    i = left.index(i);
    j = right.index(j);
  }
  return alignment;
}

}  // namespace ulpscope::comparison
