#pragma once

#include <cstdint>
#include <set>

#include "compare/align/waiting_jobs.hpp"

namespace ulpscope::comparison {

/// What a loader's threads had made ahead when the program ended: how far they come is a race.
class SamplesAhead {
 public:
  /// Another lane reads what the job made.
  void note_taken(const WorkerJob& job);

  /// Waiting jobs that do what the beginning of one does that another lane took. Where both runs
  /// have some that are not the same as far as they go, they are results like others. So are those
  /// of a thread of which nothing was taken, where the other run has a job left that is no such
  /// beginning: its partner may have become that.
  [[nodiscard]] std::set<JobId> made_ahead(const WaitingJobs& jobs) const;

 private:
  std::set<std::uint64_t> taken_;  ///< keys of the first 1, 2, 3, ... names of jobs taken
};

}  // namespace ulpscope::comparison
