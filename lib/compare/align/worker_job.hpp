#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "compare/align/course.hpp"
#include "compare/model/lane_reader.hpp"
#include "compare/model/side.hpp"
#include "compare/model/window.hpp"

namespace ulpscope::comparison {

/// An outermost op of a thread that shares work, with what it calls.
struct JobOp {
  std::shared_ptr<const Window> window;
  std::uint32_t event = kNoIndex;
  std::int64_t step = kSetup;  ///< of its lane
  std::uint32_t lane = 0;
  std::uint64_t content = 0;  ///< equal for ops that did the same with the same values

  JobOp(std::shared_ptr<const Window> in, std::uint32_t at, std::int64_t of_step,
        std::uint32_t of_lane);

  [[nodiscard]] const Event& outer() const { return window->event(event); }
  [[nodiscard]] std::uint32_t end() const { return window->end(event); }
  /// Position of the last event inside.
  [[nodiscard]] std::uint64_t last() const { return window->event(end() - 1).position; }
};

/// By lane, then by position.
[[nodiscard]] bool stands_before(const JobOp& a, const JobOp& b);

/// Ops that feed each other.
struct WorkerJob {
  Side side = Side::reference;
  std::vector<JobOp> ops;            ///< by stands_before()
  bool trains = false;               ///< a training: it can pass from thread to thread
  std::int64_t steps_before = 0;     ///< of the training that it continues
  std::optional<std::uint64_t> key;  ///< under which it can be found by an equal one
};

/// Equal for jobs that did the same with the same values, whichever thread did it when.
[[nodiscard]] std::uint64_t content_key(const WorkerJob& job);

/// The ops in an order in which they can have run: those of a thread as they ran, and each after
/// what it reads.
[[nodiscard]] std::vector<const JobOp*> in_order(const WorkerJob& job);

/// The number of the step of each of these ops: of its lane, or where it trains of the training,
/// whose steps begin with a forward, in whichever lane.
[[nodiscard]] std::vector<std::int64_t> step_numbers(const WorkerJob& job,
                                                     const std::vector<const JobOp*>& order);

/// How many steps of the training have begun when the job is done.
[[nodiscard]] std::int64_t steps_begun(const WorkerJob& job);

/// By the job's ops: those that what an event wrote follows from, the event's own included.
[[nodiscard]] std::vector<bool> leads_to(const WorkerJob& job, EventPlace place);

[[nodiscard]] Course course_of(const WorkerJob& job, Course::Of what);

/// Equal for jobs of ops of the same names.
[[nodiscard]] std::uint64_t names_key(const WorkerJob& job);

/// Equal for jobs of the same ops that read the same from outside of recorded ops. Empty where a
/// job reads nothing that could tell it from others.
[[nodiscard]] std::optional<std::uint64_t> outside_key(const WorkerJob& job);

/// Equal for jobs of the same ops whose first values from elsewhere are the same, those of modules
/// aside: what a request brings, not what serves it. Empty where a job reads no such value.
[[nodiscard]] std::optional<std::uint64_t> entry_key(const WorkerJob& job);

}  // namespace ulpscope::comparison
