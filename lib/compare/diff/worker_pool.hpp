#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compare/align/course.hpp"
#include "compare/align/samples_ahead.hpp"
#include "compare/align/waiting_jobs.hpp"
#include "compare/diff/op_judge.hpp"
#include "compare/diff/rank_state.hpp"
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

  /// The same op in both runs reads what was written at these places, the `same` or not: the jobs
  /// there are partners. Where only one run has a job there, and it is the same, the other run has
  /// made it in a lane beside the pool.
  void join(EventPlace reference, EventPlace candidate, bool same);

  /// Takes in the rest and compares the jobs that nothing joined.
  void finish();

  /// Another lane reads what these threads make.
  [[nodiscard]] bool feeds_others() const noexcept { return feeds_others_; }
  /// Something stayed without a partner.
  [[nodiscard]] bool left_alone() const noexcept { return left_alone_; }
  /// The same in words.
  [[nodiscard]] const std::vector<std::string>& unseen() const noexcept { return unseen_; }

 private:
  /// What a job was before ops of it were settled.
  struct Whole {
    JobId id = 0;
    Side side = Side::reference;
    std::optional<std::uint64_t> outside;
    std::optional<std::uint64_t> entry;
    Course values;  ///< of a training
    Course structure;
  };

  void make_room();
  void made_elsewhere(Side side, EventPlace place);
  void count_aligned(const JobOp& op);
  void compare(JobId reference, JobId candidate);
  void stand_alone(Side side, const JobOp& op, std::int64_t step, const Source* explained);
  [[nodiscard]] std::vector<Whole> describe_waiting() const;
  void pair_waiting(bool by_names);
  void pair_by(const std::vector<std::pair<JobId, std::optional<std::uint64_t>>>& keys);
  void pair_trainings(const std::vector<Whole>& wholes, Course Whole::*course);
  void count_alone(const WorkerJob& job, bool is_sample = false);
  void note_made_ahead(Side side, const Event& event);
  [[nodiscard]] Scene scene(const Both<const JobOp*>& ops, std::int64_t step,
                            std::int64_t candidate_step);

  RankState& state_;
  OpJudge judge_;
  WaitingJobs jobs_;
  SamplesAhead samples_;
  WaitingJobs::OnSettled settled_ = [this](const JobOp& op) { count_aligned(op); };
  Window nothing_;
  bool feeds_others_ = false;
  bool left_alone_ = false;
  std::uint64_t left_over_ = 0;
  std::vector<std::string> unseen_;
};

}  // namespace ulpscope::comparison
