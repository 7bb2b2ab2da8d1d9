#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "compare/source.hpp"

namespace ulpscope::comparison {

/// Ops that read one parameter in one run and another one in the other, with the same content in
/// both: two normalisations before the first update. Nothing differs until gradients and updates,
/// which go to another parameter.
class OtherParameters {
 public:
  /// Both runs have a parameter or buffer of that name.
  void see(std::string_view root, std::string_view name) { reads_.try_emplace(key(root, name)); }

  /// Neither name stands for the other's parameter: both runs have both.
  [[nodiscard]] bool are_two(std::string_view root, std::string_view a, std::string_view b) const {
    return a != b && reads_.contains(key(root, a)) && reads_.contains(key(root, b));
  }

  /// An op read `a` in the reference and `b` in the candidate.
  void read(std::string_view root, std::string_view a, std::string_view b) {
    ++reads_[key(root, a)];
    --reads_[key(root, b)];
  }
  void given(const Source& source) {
    if (!first_) first_ = source;
  }

  /// The first such op, where one run reads a parameter more often than the other does. Where names
  /// were only exchanged, each is read as often, and gradients go where they belong.
  [[nodiscard]] std::optional<Source> first() const {
    const bool uneven = std::any_of(reads_.begin(), reads_.end(),
                                    [](const auto& entry) { return entry.second != 0; });
    return uneven ? first_ : std::nullopt;
  }

 private:
  using Key = std::pair<std::string, std::string>;  // root, name
  [[nodiscard]] static Key key(std::string_view root, std::string_view name) {
    return {std::string(root), std::string(name)};
  }

  std::map<Key, std::int64_t> reads_;  ///< in the reference more than in the candidate
  std::optional<Source> first_;
};

}  // namespace ulpscope::comparison
