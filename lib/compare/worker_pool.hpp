#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compare/course.hpp"
#include "compare/lane_reader.hpp"
#include "compare/op_judge.hpp"
#include "compare/rank_state.hpp"
#include "compare/window.hpp"

namespace ulpscope::comparison {

/// Compares threads that share work, such as the workers of a data loader, or a pool of threads
/// that train one model after another. Which thread does which piece, and when, is a race: pieces
/// are matched by what they did.
///
/// A job is the ops of one thread that feed each other: all of a model's training, for example. It
/// is done with when another lane reads its result, or at the end: until then ops may join it, in
/// later steps too. Jobs that are equal in both runs cancel, whichever thread did them. What is
/// left is compared in pairs: jobs whose results another lane reads at the same place in both runs,
/// else jobs that read the same, else trainings that begin with the same, for as long as possible.
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

  struct Op {
    std::shared_ptr<const Window> window;
    std::uint32_t event = kNoIndex;
    std::int64_t step = kSetup;

    [[nodiscard]] const Event& outer() const { return window->event(event); }
    [[nodiscard]] std::uint32_t end() const { return window->end(event); }
  };
  struct Job {
    Side side = Side::reference;
    std::size_t thread = 0;
    std::uint32_t lane = 0;
    std::vector<Op> ops;               ///< by position
    std::optional<std::uint64_t> key;  ///< under which it can be found by an equal one
  };
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
    std::map<std::uint64_t, Placed> ops;  ///< of waiting jobs, by position
  };
  using JobKey = std::optional<std::uint64_t> (*)(const Job&);

  [[nodiscard]] std::optional<std::size_t> next_thread(Side side, std::int64_t step) const;
  void read_piece(Side side, std::size_t number);
  void make_room();
  JobId add(Side side, std::size_t number, Op op);
  JobId merge(JobId one, JobId other);
  [[nodiscard]] std::optional<JobId> job_at(const Thread& thread, std::uint64_t position) const;
  [[nodiscard]] std::optional<JobId> job_at(Side side, EventPlace place) const;
  void enter(JobId id);
  void withdraw(JobId id);
  [[nodiscard]] std::optional<JobId> equal_of(JobId id) const;
  bool cancel(JobId id);
  void cancel_equal(std::size_t most_ops);
  void forget(JobId id);
  void compare(JobId reference, JobId candidate);
  void stand_alone(const Job& job, const Op& op, const Source* explained);
  void pair_rest(JobKey key);
  void pair_trainings();
  void count_alone(const Job& job, bool is_sample = false);
  void note_taken(const Job& job);
  [[nodiscard]] std::set<JobId> samples_made_ahead() const;
  [[nodiscard]] Scene scene(const Job* reference, const Op* reference_op, const Job* candidate,
                            const Op* candidate_op) const;

  [[nodiscard]] bool is_training(const Job& job) const;
  [[nodiscard]] static std::uint64_t content_key(const Job& job);
  [[nodiscard]] static Course course_of(const Job& job);
  /// The step of the thread in which the job's first forward runs.
  [[nodiscard]] static std::int64_t first_step(const Job& job);
  [[nodiscard]] static std::optional<std::uint64_t> outside_key(const Job& job);
  [[nodiscard]] static std::optional<std::uint64_t> entry_key(const Job& job);
  [[nodiscard]] static std::optional<std::uint64_t> names_key(const Job& job);

  RankState& state_;
  OpJudge judge_;
  Both<std::vector<Thread>> threads_;
  std::map<JobId, Job> waiting_;
  std::size_t waiting_ops_ = 0;
  Both<std::uint64_t> events_;  ///< read
  Both<std::multimap<std::uint64_t, JobId>> by_key_;
  JobId next_ = 1;
  Window nothing_;
  bool feeds_others_ = false;      ///< another lane reads what these threads make
  std::set<std::uint64_t> taken_;  ///< keys of the first 1, 2, 3, ... names of jobs that it reads
  bool left_alone_ = false;
  std::uint64_t left_over_ = 0;
  std::vector<std::string> unseen_;
};

}  // namespace ulpscope::comparison
