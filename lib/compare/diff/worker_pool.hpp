#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compare/align/course.hpp"
#include "compare/align/worker_job.hpp"
#include "compare/diff/op_judge.hpp"
#include "compare/diff/rank_state.hpp"
#include "compare/model/lane_reader.hpp"
#include "compare/model/window.hpp"

namespace ulpscope::comparison {

/// Compares threads that share work, such as the workers of a data loader, or a pool of threads
/// that train. Which thread does which piece, and when, is a race: pieces are matched by what they
/// did.
///
/// A job is the ops of one thread that feed each other: a sample that a loader makes, for example.
/// All of a model's training is one job, in whichever threads its steps run. A job is done with
/// when a lane beside the pool reads its result, or at the end: until then ops may join it, in
/// later steps too. Jobs that are equal in both runs cancel, whichever thread did them when. What
/// is left is compared in pairs: jobs whose results another lane reads at the same place in both
/// runs, else jobs that read the same, else trainings that begin with the same, for as long as
/// possible.
class WorkerPool {
 public:
  WorkerPool(RankState& state, const Both<std::vector<Lane>>& lanes);

  /// Takes in what the threads did up to a step.
  void read(std::int64_t step, std::int64_t candidate_step);

  /// The same op in both runs reads what was written at these places: the jobs there are partners.
  void join(EventPlace reference, EventPlace candidate);

  /// Takes in the rest and compares the jobs that nothing joined.
  void finish();

  /// Something stayed without a partner.
  [[nodiscard]] bool left_alone() const noexcept { return left_alone_; }
  /// The same in words.
  [[nodiscard]] const std::vector<std::string>& unseen() const noexcept { return unseen_; }

 private:
  using JobId = std::uint64_t;

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
  /// What a job was before ops of it were settled.
  struct Whole {
    JobId id = 0;
    Side side = Side::reference;
    std::optional<std::uint64_t> outside;
    std::optional<std::uint64_t> entry;
    Course values;  ///< of a training
    Course structure;
  };

  [[nodiscard]] std::optional<std::size_t> next_thread(Side side, std::int64_t step) const;
  void read_piece(Side side, Thread& thread);
  void read_training(Side side, EventPlace place);
  void make_room();
  void add(Side side, Thread& thread, JobOp op);
  [[nodiscard]] std::set<JobId> read_by(Side side, const Thread& thread, const JobOp& op,
                                        WorkerJob& job);
  JobId merge(JobId one, JobId other);
  void split(JobId id, EventPlace place);
  [[nodiscard]] Thread* thread_of(Side side, std::uint32_t lane);
  [[nodiscard]] static std::optional<JobId> job_at(const Thread& thread, std::uint64_t position);
  [[nodiscard]] std::optional<JobId> job_at(Side side, EventPlace place);
  void enter_changed();
  void withdraw(JobId id);
  [[nodiscard]] std::optional<JobId> equal_of(JobId id) const;
  bool cancel(JobId id);
  void cancel_equal(std::size_t most_ops);
  void cancel_equal_ops();
  void count_aligned(const JobOp& op);
  void forget(JobId id);
  void note_done(const WorkerJob& job);
  void compare(JobId reference, JobId candidate);
  void stand_alone(Side side, const JobOp& op, std::int64_t step, const Source* explained);
  [[nodiscard]] std::vector<Whole> describe_waiting() const;
  void pair_waiting(bool by_names);
  void pair_by(const std::vector<std::pair<JobId, std::optional<std::uint64_t>>>& keys);
  void pair_trainings(const std::vector<Whole>& wholes, Course Whole::*course);
  void count_alone(const WorkerJob& job, bool is_sample = false);
  void note_taken(const WorkerJob& job);
  [[nodiscard]] std::set<JobId> samples_made_ahead();
  [[nodiscard]] Scene scene(const Both<const JobOp*>& ops, std::int64_t step,
                            std::int64_t candidate_step);

  RankState& state_;
  OpJudge judge_;
  Both<std::vector<Thread>> threads_;
  std::map<JobId, WorkerJob> waiting_;
  std::set<JobId> changed_;  ///< those that cannot be found by an equal one yet
  std::size_t waiting_ops_ = 0;
  Both<std::uint64_t> events_;  ///< read
  Both<std::multimap<std::uint64_t, JobId>> by_key_;
  JobId next_ = 1;
  Window nothing_;
  bool trains_ = false;            ///< some of the threads train
  bool feeds_others_ = false;      ///< another lane reads what these threads make
  std::set<std::uint64_t> taken_;  ///< keys of the first 1, 2, 3, ... names of jobs that it reads
  bool left_alone_ = false;
  std::uint64_t left_over_ = 0;
  std::vector<std::string> unseen_;
};

}  // namespace ulpscope::comparison
