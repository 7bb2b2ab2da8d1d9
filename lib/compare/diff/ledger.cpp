#include "compare/diff/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "compare/model/hash.hpp"
#include "compare/model/words.hpp"

namespace ulpscope::comparison {
namespace {

/// How many of a kind are kept at least. Numbers are few and small, so that an old one would agree
/// with others by accident.
[[nodiscard]] constexpr std::size_t kept(Differing what) noexcept {
  const bool of_number = what == Differing::number || what == Differing::number_content;
  return of_number ? 64 : std::size_t{1} << 16;
}

[[nodiscard]] DifferingKey of_op(Differing what, Side side, EventPlace op) {
  return {what, KeyHash()
                    .add(static_cast<std::uint64_t>(side))
                    .add(std::uint64_t{op.lane})
                    .add(op.position)
                    .value()};
}

[[nodiscard]] DifferingKey of_memory(Differing what, Side side, std::uint64_t storage,
                                     std::int64_t step) {
  return {what, KeyHash()
                    .add(static_cast<std::uint64_t>(side))
                    .add(storage)
                    .add(static_cast<std::uint64_t>(step))
                    .value()};
}

/// Whether something that follows from no finding may be entered.
[[nodiscard]] constexpr bool may_lack_finding(Differing what) noexcept {
  return what != Differing::number_of_update && what != Differing::gradient_alone &&
         what != Differing::updated_alone && what != Differing::updated_by &&
         what != Differing::part;
}

/// A text that is no number may be anything.
[[nodiscard]] bool is_fraction(std::string_view text) {
  const auto number = number_in(text);
  return number && *number != std::floor(*number);
}

template <class Number>
[[nodiscard]] Digest content_of_number(double number) {
  const auto value = static_cast<Number>(number);
  return digest(std::as_bytes(std::span(&value, 1)));
}

[[nodiscard]] DifferingKey number_content(const Digest& reference, const Digest& candidate) {
  return {Differing::number_content, differing::contents(reference, candidate).identity};
}

/// The same for "2" and "2.0", and for a float32 and its digits as a double.
[[nodiscard]] std::string plain(std::string_view text) {
  const auto number = number_in(text);
  if (!number) return std::string(text);
  return *number == std::floor(*number) ? fmt::format("{:.0f}", *number)
                                        : fmt::format("{}", static_cast<float>(*number));
}

/// Those of "5" or "[1, 2]"; empty for any other text.
[[nodiscard]] std::vector<std::int64_t> integers_in(std::string_view text) {
  std::vector<std::int64_t> numbers;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    if (*at == '[' || *at == ']' || *at == ',' || *at == ' ') {
      ++at;
      continue;
    }
    std::int64_t number = 0;
    const auto [behind, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) return {};
    numbers.push_back(number);
    at = behind;
  }
  return numbers;
}

}  // namespace

namespace differing {

DifferingKey contents(const Digest& reference, const Digest& candidate) {
  return {Differing::contents, KeyHash().add(reference).add(candidate).value()};
}

DifferingKey size(std::int64_t reference, std::int64_t candidate) {
  return {Differing::size, KeyHash()
                               .add(static_cast<std::uint64_t>(reference))
                               .add(static_cast<std::uint64_t>(candidate))
                               .value()};
}

DifferingKey number(std::string_view reference, std::string_view candidate) {
  return {Differing::number, KeyHash().add(plain(reference)).add(plain(candidate)).value()};
}

DifferingKey number_of_update(Side side, EventPlace optimizer) {
  return of_op(Differing::number_of_update, side, optimizer);
}

DifferingKey arguments(Side side, EventPlace op) { return of_op(Differing::arguments, side, op); }
DifferingKey alone(Side side, EventPlace op) { return of_op(Differing::alone, side, op); }
DifferingKey passed_on(Side side, EventPlace writer) {
  return of_op(Differing::passed_on, side, writer);
}

DifferingKey of_alone_node(Side side, EventPlace op) {
  return of_op(Differing::of_alone_node, side, op);
}
DifferingKey detached(Side side, EventPlace op) { return of_op(Differing::detached, side, op); }

DifferingKey gradient_alone(std::string_view root, std::string_view parameter, std::int64_t step) {
  return {Differing::gradient_alone,
          KeyHash().add(root).add(parameter).add(static_cast<std::uint64_t>(step)).value()};
}

DifferingKey updated_alone(std::string_view root, std::string_view parameter) {
  return {Differing::updated_alone, KeyHash().add(root).add(parameter).value()};
}

DifferingKey updated_by(Side side, std::uint64_t optimizer) {
  return {Differing::updated_by,
          KeyHash().add(static_cast<std::uint64_t>(side)).add(optimizer).value()};
}

DifferingKey viewed_part(Side side, const Slot& view, std::int64_t step) {
  const Geometry& geometry = *view.geometry;
  KeyHash hash;
  hash.add(of_memory(Differing::viewed_part, side, view.storage, step).identity)
      .add(static_cast<std::uint64_t>(geometry.storage_offset));
  for (const auto* const numbers : {&geometry.sizes, &geometry.strides}) {
    hash.add(std::uint64_t{numbers->size()});
    for (const std::int64_t number : *numbers) hash.add(static_cast<std::uint64_t>(number));
  }
  return {Differing::viewed_part, hash.value()};
}

DifferingKey part(const Slot& reference, const Slot& candidate) {
  KeyHash hash;
  for (const Slot* slot : {&reference, &candidate})
    hash.add(slot->storage).add(static_cast<std::uint64_t>(slot->geometry->storage_offset));
  return {Differing::part, hash.value()};
}

DifferingKey view(Side side, std::uint64_t storage, std::int64_t step) {
  return of_memory(Differing::view, side, storage, step);
}
DifferingKey without_gradient(Side side, std::uint64_t storage, std::int64_t step) {
  return of_memory(Differing::without_gradient, side, storage, step);
}

}  // namespace differing

void Ledger::enter(DifferingKey key, const Source& source) {
  if (source.finding == kNoFinding && !may_lack_finding(key.what)) return;
  Kind& kind = kinds_[static_cast<std::size_t>(key.what)];
  kind.last = source;
  if (kind.lately.contains(key.identity)) return;
  const auto known = kind.before.find(key.identity);
  const Source first = known == kind.before.end() ? source : known->second;
  if (kind.lately.size() == kept(key.what)) kind.before = std::exchange(kind.lately, {});
  kind.lately.emplace(key.identity, first);
}

std::optional<Source> Ledger::find(DifferingKey key) const {
  const Kind& kind = kinds_[static_cast<std::size_t>(key.what)];
  for (const Entries* entries : {&kind.lately, &kind.before})
    if (const auto at = entries->find(key.identity); at != entries->end()) return at->second;
  return std::nullopt;
}

void Ledger::enter_number(const std::string& reference, const std::string& candidate,
                          const Source& source) {
  enter(differing::number(reference, candidate), source);
  if (is_fraction(reference) || is_fraction(candidate)) enter({Differing::fraction}, source);
  const auto left = number_in(reference);
  const auto right = number_in(candidate);
  if (!left || !right) return;
  const auto enter_content = [&]<class Number>(Number) {
    enter(number_content(content_of_number<Number>(*left), content_of_number<Number>(*right)),
          source);
  };
  enter_content(float{});
  enter_content(double{});
  if (*left == std::trunc(*left) && *right == std::trunc(*right) && std::abs(*left) < 0x1p62 &&
      std::abs(*right) < 0x1p62)
    enter_content(std::int64_t{});
}

std::optional<Source> Ledger::explain_number(std::string_view reference,
                                             std::string_view candidate) const {
  const auto read = find(differing::number(reference, candidate));
  return read && read->finding != kNoFinding ? read : std::nullopt;
}

std::optional<Source> Ledger::explain_number(const Slot& reference, const Slot& candidate) const {
  const auto read = find(number_content(reference.digest, candidate.digest));
  return read && read->finding != kNoFinding ? read : std::nullopt;
}

void Ledger::enter_sizes(const Geometry& reference, const Geometry& candidate,
                         const Source& source) {
  const auto& a = reference.sizes;
  const auto& b = candidate.sizes;
  for (std::size_t d = 0; d < std::min(a.size(), b.size()); ++d)
    if (a[d] != b[d]) enter(differing::size(a[d], b[d]), source);
}

std::optional<Source> Ledger::explain_sizes(std::string_view reference,
                                            std::string_view candidate) const {
  const std::vector<std::int64_t> a = integers_in(reference);
  const std::vector<std::int64_t> b = integers_in(candidate);
  if (a.size() != b.size()) return std::nullopt;
  std::optional<Source> source;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] == b[k]) continue;
    source = find(differing::size(a[k], b[k]));
    if (!source) return std::nullopt;
  }
  return source;
}

}  // namespace ulpscope::comparison
