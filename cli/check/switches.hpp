#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/check/smallest_set.hpp"
#include "cli/check/variants.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// One thing in which two runs were started differently, and that a new run can have either way.
struct Switch {
  enum class Kind : std::uint8_t { words, variable, flag };

  Kind kind = Kind::words;
  std::string name;                      ///< "--threads", "OMP_NUM_THREADS", "mkldnn"
  std::optional<std::string> reference;  ///< empty: not set, no such words
  std::optional<std::string> candidate;
};

/// How two runs were started.
struct TwoStarts {
  std::vector<Switch> switches;
  /// The words of both commands in order: those of one run only with the index of their switch.
  struct Word {
    std::string text;
    std::optional<std::size_t> of_switch;
    bool candidate = false;  ///< only the candidate has it, with of_switch
  };
  std::vector<Word> words;
  Variables variables;              ///< that both runs were started with
  std::vector<std::string> others;  ///< keys of settings that can change bits and cannot be chosen
};

[[nodiscard]] TwoStarts starts_of(const Run& reference, const Run& candidate);

/// The reference's start with some of the candidate's settings.
[[nodiscard]] Variant start_with(const TwoStarts& starts, const IndexSet& switched);

}  // namespace ulpscope::cli
