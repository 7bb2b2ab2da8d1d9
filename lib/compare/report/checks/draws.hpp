#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compare/report/checks/check.hpp"

namespace ulpscope::comparison {

/// Collects which threads draw random numbers from which generators.
class DrawCollector {
 public:
  void see(const Lane& lane, const Block& block);

  /// Was every generator that is drawn from seeded by the program?
  [[nodiscard]] Check check_seeds() const;
  /// Do threads draw from one generator, or from several that were seeded alike?
  [[nodiscard]] Check check_generators() const;

 private:
  struct LaneName {
    LaneRole role;
    std::uint32_t ordinal;
    friend auto operator<=>(const LaneName&, const LaneName&) = default;
  };
  struct Generator {
    std::uint64_t draws = 0;
    std::map<LaneName, std::uint64_t> by_lane;
    std::string first;  ///< the first op that drew, in words
  };
  struct Name {
    bool is_own;
    std::uint64_t seed;
    friend auto operator<=>(const Name&, const Name&) = default;
  };
  struct Open {
    std::uint64_t position;
    bool draws;
  };

  void note(const Lane& lane, const Event& event, std::int64_t step);
  [[nodiscard]] static std::string words(const LaneName& lane);

  std::map<Name, Generator> generators_;
  std::map<std::uint32_t, std::vector<Open>> open_;  ///< open events, by lane
  std::map<Digest, LaneName> states_;  ///< of other generators: who drew from each first
  std::vector<std::string> twins_;     ///< threads that drew from one state, in words
};

}  // namespace ulpscope::comparison
