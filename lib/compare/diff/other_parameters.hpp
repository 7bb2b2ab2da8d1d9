#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "compare/diff/source.hpp"

namespace ulpscope::comparison {

/// Ops that read different parameters in the two runs, with the same content in both: two
/// normalizations before the first update. Nothing differs until gradients and updates, which go to
/// a different parameter.
class OtherParameters {
 public:
  /// Both runs have a parameter or buffer of that name.
  void see(std::string_view root, std::string_view name) {
    auto at = reads_.find(root);
    if (at == reads_.end()) at = reads_.emplace(root, Reads()).first;
    if (!at->second.contains(name)) at->second.emplace(name, 0);
  }

  /// Neither name denotes the other's parameter: both runs have both.
  [[nodiscard]] bool are_two(std::string_view root, std::string_view a, std::string_view b) const {
    if (a == b) return false;
    const auto at = reads_.find(root);
    return at != reads_.end() && at->second.contains(a) && at->second.contains(b);
  }

  /// An op read `a` in the reference and `b` in the candidate, which are two.
  void given(std::string_view root, std::string_view a, std::string_view b) {
    Reads& reads = reads_.find(root)->second;
    ++reads.find(a)->second;
    --reads.find(b)->second;
  }
  void found(const Source& source) {
    if (!first_) first_ = source;
  }

  /// The first such op, if one run reads a parameter more often than the other does. If names were
  /// only exchanged, each is read equally often, and gradients go to the right place.
  [[nodiscard]] std::optional<Source> first() const {
    if (!first_) return std::nullopt;
    const auto is_uneven = [](const auto& read) { return read.second != 0; };
    const bool uneven = std::any_of(reads_.begin(), reads_.end(), [&](const auto& root) {
      return std::any_of(root.second.begin(), root.second.end(), is_uneven);
    });
    return uneven ? first_ : std::nullopt;
  }

 private:
  /// By name: in the reference more often than in the candidate.
  using Reads = std::map<std::string, std::int64_t, std::less<>>;

  std::map<std::string, Reads, std::less<>> reads_;  ///< by root
  std::optional<Source> first_;
};

}  // namespace ulpscope::comparison
