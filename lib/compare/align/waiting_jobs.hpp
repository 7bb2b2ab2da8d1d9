#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compare/align/worker_job.hpp"
#include "compare/model/lane_reader.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

using JobId = std::uint64_t;

/// The jobs of threads that share work that are not settled yet, numbered as they began.
class WaitingJobs {
 public:
  /// Where an op of a waiting job stands in its thread.
  struct Placed {
    JobId job = 0;
    std::uint64_t last = 0;     ///< position of the last event inside
    bool gives_number = false;  ///< it gives a number back to the program
  };
  struct Thread {
    Lane lane;
    LaneReader reader;
    std::vector<HeldEvent> open;          ///< read, of an op that has not ended
    bool feeds_others = false;            ///< another lane has read what it makes
    std::uint64_t added = 0;              ///< one past the last event that was taken in
    std::map<std::uint64_t, Placed> ops;  ///< of waiting jobs, by position
    /// What other threads' ops read that is not read in yet: its position, and who reads it.
    std::multimap<std::uint64_t, EventPlace> awaited;
    /// How far trainings of the thread were done with, and how many steps they had begun.
    std::map<std::uint64_t, std::int64_t> done;
  };
  /// Gets what is read of threads that is not an op.
  using OnOther = std::function<void(Side, const Thread&, const HeldEvent&)>;
  /// Gets each op that both runs have, once.
  using OnSettled = std::function<void(const JobOp&)>;

  WaitingJobs(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
              const Both<std::vector<Lane>>& lanes, bool only_layers, OnOther on_other);

  /// Takes in the next piece of the run of which less has been read, up to these steps. False where
  /// nothing is left.
  bool read_piece(std::int64_t step, std::int64_t candidate_step);
  /// Takes in what leads to an event of a training, in whichever threads that is.
  void read_training(Side side, EventPlace place);

  [[nodiscard]] const std::map<JobId, WorkerJob>& all() const noexcept { return waiting_; }
  [[nodiscard]] const WorkerJob& at(JobId id) const { return waiting_.at(id); }
  [[nodiscard]] bool contains(JobId id) const { return waiting_.contains(id); }
  [[nodiscard]] std::size_t op_count() const noexcept { return op_count_; }
  /// The waiting job that holds an event.
  [[nodiscard]] std::optional<JobId> find(Side side, EventPlace place) const;
  /// Null where a lane shares no work.
  [[nodiscard]] Thread* thread_of(Side side, std::uint32_t lane);
  [[nodiscard]] const Thread* thread_of(Side side, std::uint32_t lane) const;
  /// Some of the threads train.
  [[nodiscard]] bool train() const noexcept { return train_; }

  /// Leaves of a training what an event follows from, and makes a job of its own of the rest.
  void split(JobId id, EventPlace place);
  /// Settles a job with an equal one of the other run; false if none waits.
  bool settle(JobId id, const OnSettled& settled);
  /// Settles the oldest jobs that have an equal, until `most_ops` wait.
  void settle_equal(std::size_t most_ops, const OnSettled& settled);
  /// Settles the ops that the other run's jobs have done too, however far those are.
  void settle_equal_ops(const OnSettled& settled);
  void forget(JobId id);
  void clear();

 private:
  [[nodiscard]] std::optional<std::size_t> next_thread(Side side, std::int64_t step) const;
  void read_piece(Side side, Thread& thread);
  void add(Side side, Thread& thread, JobOp op);
  [[nodiscard]] std::set<JobId> read_by(Side side, const Thread& thread, const JobOp& op,
                                        WorkerJob& job);
  JobId merge(JobId one, JobId other);
  [[nodiscard]] static std::optional<JobId> find(const Thread& thread, std::uint64_t position);
  void enter_changed();
  void withdraw(JobId id);
  [[nodiscard]] std::optional<JobId> equal_of(JobId id) const;
  void note_done(const WorkerJob& job);

  Both<std::vector<Thread>> threads_;
  OnOther on_other_;
  bool train_ = false;
  Both<std::uint64_t> events_;  ///< read
  std::map<JobId, WorkerJob> waiting_;
  std::set<JobId> changed_;  ///< those that cannot be found by an equal one yet
  Both<std::multimap<std::uint64_t, JobId>> by_key_;
  std::size_t op_count_ = 0;
  JobId next_ = 1;
};

}  // namespace ulpscope::comparison
