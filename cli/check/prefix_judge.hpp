#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/check/sighting.hpp"
#include "ulpscope/report.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// What comes later cannot change that the runs diverge at `finding`: its step is over, or what it
/// says holds whatever follows, and all ops that it happened inside have ended.
/// @param newest_step of the candidate, which may not be over.
[[nodiscard]] bool is_final(const Finding& finding, const Run& reference, const Run& candidate,
                            std::int64_t newest_step);

/// The newest step that a rank, and each thread of it that trains on its own, has begun.
[[nodiscard]] std::int64_t newest_step(const Run& run, std::uint32_t rank);
/// The same of all ranks, processes that take part in no step aside.
[[nodiscard]] std::int64_t newest_step(const Run& run);

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
