#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/check/sighting.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// Compares what a run has recorded so far, its open step included, with a finished dump or with
/// what another one has recorded.
class PrefixJudge {
 public:
  explicit PrefixJudge(std::string reference) : reference_(std::move(reference)) {}

  struct Judgement {
    Answer answer = Answer::go_on;
    std::optional<Report> diverged;  ///< then there is no answer
  };
  /// `snapshot` is made a dump.
  /// @throws Error if one of the two cannot be read.
  [[nodiscard]] Judgement judge(const std::filesystem::path& snapshot);

 private:
  struct Found {
    FindingKind kind = FindingKind::origin;
    std::optional<std::int64_t> step;
    std::optional<std::uint64_t> reference;  ///< events
    std::optional<std::uint64_t> candidate;
    friend bool operator==(const Found&, const Found&) = default;
  };

  [[nodiscard]] bool equal_since_last(const std::string& snapshot) const;
  [[nodiscard]] bool is_confirmed(const Finding& finding);

  std::string reference_;
  std::optional<Found> last_found_;
  std::int64_t equal_before_ = 0;  ///< steps that are equal for certain
};

}  // namespace ulpscope::cli
