#include "compare/diff/worker_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "compare/align/sequence_alignment.hpp"
#include "compare/diff/explain/spread.hpp"
#include "compare/diff/finding_writer.hpp"
#include "compare/diff/outcomes/numbers_read.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/structure.hpp"
#include "compare/model/words.hpp"
#include "core/counts.hpp"

namespace ulpscope::comparison {
namespace {

/// Ops of waiting jobs kept, of both runs; what waited longest is settled beyond it.
constexpr std::size_t kWaitingOps = 65536;

/// Handing out memory and making views leaves nothing that could differ.
[[nodiscard]] bool leaves_value(const Event& event) {
  return std::any_of(event.slots.begin(), event.slots.end(), [](const Slot& slot) {
    return slot.role != Role::input && holds_digest(slot) && !(slot.flags & slot_flag::view);
  });
}

}  // namespace

WorkerPool::WorkerPool(RankState& state, const Both<std::vector<Lane>>& lanes)
    : state_(state),
      judge_(state),
      jobs_(state.runs, state.ranks, lanes, state.mode.only_layers,
            [this](Side side, const WaitingJobs::Thread& thread, const HeldEvent& event) {
              if (event.event->op == kFreedParameters)
                on(state_.memory.freed, side).push_back({event, thread.lane});
            }),
      nothing_({}, true) {}

void WorkerPool::read(std::int64_t step, std::int64_t candidate_step) {
  while (jobs_.read_piece(step, candidate_step)) make_room();
}

void WorkerPool::make_room() {
  if (jobs_.op_count() <= kWaitingOps) return;
  jobs_.settle_equal(kWaitingOps / 2, settled_);
  if (jobs_.op_count() > kWaitingOps) jobs_.settle_equal_ops(settled_);
  while (jobs_.op_count() > kWaitingOps) {
    const auto& [id, oldest] = *jobs_.all().begin();
    count_alone(oldest);
    jobs_.forget(id);
  }
}

void WorkerPool::count_aligned(const JobOp& op) {
  Totals& totals = state_.totals;
  totals.coverage.aligned += op.end() - op.event;
  ++totals.ops.reference;
  ++totals.ops.candidate;
  ++totals.aligned_ops;
  state_.random.rng.drew_in_thread(*op.window, op.event, std::nullopt);
  for (const Slot& slot : op.outer().slots) {
    if (!holds_digest(slot)) continue;
    ++totals.values;
    if (slot.role != Role::input) continue;
    ++totals.reads.reference;
    ++totals.reads.candidate;
    totals.verified.reference += slot.flags & slot_flag::verified ? 1 : 0;
    totals.verified.candidate += slot.flags & slot_flag::verified ? 1 : 0;
  }
}

void WorkerPool::made_elsewhere(Side side, EventPlace place) {
  const std::optional<JobId> id = jobs_.find(side, place);
  if (!id || jobs_.at(*id).trains) return;
  feeds_others_ = true;
  jobs_.thread_of(side, place.lane)->feeds_others = true;
  const WorkerJob& job = jobs_.at(*id);
  samples_.note_taken(job);
  Coverage& coverage = state_.totals.coverage;
  for (const JobOp& op : job.ops) {
    state_.random.rng.drew_in_thread(*op.window, op.event, side);
    (side == Side::reference ? coverage.only_reference : coverage.only_candidate) +=
        op.end() - op.event;
  }
  jobs_.forget(*id);
}

void WorkerPool::join(EventPlace reference, EventPlace candidate, bool same) {
  const Both<EventPlace> places{reference, candidate};
  Both<WaitingJobs::Thread*> threads;
  for (const Side side : kSides) on(threads, side) = jobs_.thread_of(side, on(places, side).lane);
  for (const Side side : kSides) {
    if (on(threads, side) != nullptr) continue;
    const Side other = the_other(side);
    if (same && on(threads, other) != nullptr) made_elsewhere(other, on(places, other));
    return;
  }
  feeds_others_ = true;
  for (const Side side : kSides) on(threads, side)->feeds_others = true;
  Both<std::optional<JobId>> jobs;
  for (const Side side : kSides) {
    if (jobs_.train()) jobs_.read_training(side, on(places, side));
    on(jobs, side) = jobs_.find(side, on(places, side));
    if (const auto& job = on(jobs, side); job && !jobs_.at(*job).trains)
      samples_.note_taken(jobs_.at(*job));
  }
  const auto trains = [&](const std::optional<JobId>& job) { return job && jobs_.at(*job).trains; };
  if (jobs.reference && jobs.candidate && (trains(jobs.reference) || trains(jobs.candidate)))
    for (const Side side : kSides) jobs_.split(*on(jobs, side), on(places, side));
  const auto settles = [&](const std::optional<JobId>& job) {
    return !job || !jobs_.contains(*job) || jobs_.settle(*job, settled_);
  };
  const bool a_settled = settles(jobs.reference);
  const bool b_settled = settles(jobs.candidate);
  if (!a_settled && !b_settled && !same) compare(*jobs.reference, *jobs.candidate);
}

/// Of an op of each run, or of one that stands alone.
Scene WorkerPool::scene(const Both<const JobOp*>& ops, std::int64_t step,
                        std::int64_t candidate_step) {
  static const Lane kNoLane;
  Scene scene;
  scene.runs = state_.runs;
  scene.ranks = state_.ranks;
  scene.step = step;
  scene.candidate_step = candidate_step;
  for (const Side side : kSides) {
    const JobOp* const op = on(ops, side);
    on(scene.lanes, side) = op ? &jobs_.thread_of(side, op->lane)->lane : &kNoLane;
    on(scene.windows, side) = op ? op->window.get() : &nothing_;
  }
  return scene;
}

void WorkerPool::compare(JobId reference, JobId candidate) {
  struct Row {
    const JobOp* op;
    std::int64_t step;
  };
  std::unordered_map<std::uint64_t, std::size_t> equal;  // ops of the candidate, by content
  const auto rows_of = [](const WorkerJob& job) {
    const std::vector<const JobOp*> order = in_order(job);
    const std::vector<std::int64_t> steps = step_numbers(job, order);
    std::vector<Row> rows;
    for (std::size_t k = 0; k < order.size(); ++k) rows.push_back({order[k], steps[k]});
    return rows;
  };
  std::vector<Row> a = rows_of(jobs_.at(reference));
  std::vector<Row> b = rows_of(jobs_.at(candidate));
  // What threads did is in order only as far as they read from each other. What both runs did with
  // the same values needs none.
  if (jobs_.at(reference).trains || jobs_.at(candidate).trains) {
    for (const Row& row : b) ++equal[row.op->content];
    std::unordered_map<std::uint64_t, std::size_t> settled;
    std::erase_if(a, [&](const Row& row) {
      const auto found = equal.find(row.op->content);
      if (found == equal.end() || found->second == 0) return false;
      --found->second;
      ++settled[row.op->content];
      count_aligned(*row.op);
      return true;
    });
    std::erase_if(b, [&](const Row& row) {
      const auto found = settled.find(row.op->content);
      if (found == settled.end() || found->second == 0) return false;
      --found->second;
      return true;
    });
  }
  const auto elements = [](const std::vector<Row>& rows) {
    std::vector<SequenceElement> result;
    for (const Row& row : rows) {
      const Event& op = row.op->outer();
      result.push_back({structure_key(op, Place::ignored), input_key(op), output_key(op), false,
                        argument_key(op)});
    }
    return result;
  };
  std::size_t i = 0;
  std::size_t j = 0;
  std::optional<Source> numbers =
      state_.ledger.last(Differing::drawn_order);  // why what the threads act on differs
  const auto alone = [&](std::size_t i_end, std::size_t j_end) {
    const Source* const explained = numbers ? &*numbers : nullptr;
    for (; i < i_end; ++i) stand_alone(Side::reference, *a[i].op, a[i].step, explained);
    for (; j < j_end; ++j) stand_alone(Side::candidate, *b[j].op, b[j].step, explained);
  };
  for (const auto& [left, right] : align(elements(a), elements(b)).pairs) {
    alone(left, right);
    const Row& one = a[i++];
    const Row& other = b[j++];
    ++state_.totals.ops.reference;
    ++state_.totals.ops.candidate;
    ++state_.totals.aligned_ops;
    judge_.follow_numbers(numbers);
    const Scene here = scene({one.op, other.op}, one.step, other.step);
    if (judge_.judge(here, {one.op->event, other.op->event}).numbers_differ)
      numbers = state_.ledger.last(Differing::number);
  }
  judge_.follow_numbers({});
  alone(a.size(), b.size());
  jobs_.forget(reference);
  jobs_.forget(candidate);
}

/// An op that only one of two partners has, or that has no partner at all. Where it is `explained`
/// by numbers that differ, it is no finding of its own.
void WorkerPool::stand_alone(Side side, const JobOp& op, std::int64_t step,
                             const Source* explained) {
  const bool in_reference = side == Side::reference;
  const Scene here =
      scene({in_reference ? &op : nullptr, in_reference ? nullptr : &op}, step, step);
  const EventPair at = in_reference ? EventPair{op.event, kNoIndex} : EventPair{kNoIndex, op.event};
  Coverage& coverage = state_.totals.coverage;
  (in_reference ? coverage.only_reference : coverage.only_candidate) += op.end() - op.event;
  ++on(state_.totals.ops, side);
  state_.program.numbers_read.read_alone(side, op.outer());
  AloneMemory& memory = on(state_.memory.alone, side);
  memory.read(*op.window, op.event, AloneMemory::Partner::none);
  if (!leaves_value(op.outer())) return;
  const auto enter = [&] {
    return enter_alone(state_, FindingKind::sequence, here, at, op.outer().position,
                       {.harmless = true}, [&](Record& record) {
                         record.finding.diverges = false;
                         on(record.evidence.alone, side).emplace_back(op.outer().op);
                         record.finding.notes.push_back(
                             fmt::format("only in the {}: {}", name(side), op.outer().op));
                       });
  };
  const Source source = explained ? *explained : enter();
  state_.random.rng.drew_alone(side, *op.window, op.event, RngTracker::kNoLane, here.step, source);
  for (std::uint32_t index = op.event; index < op.end(); ++index)
    write_alone(state_, here, side, index, source);
  memory.changed(op.outer());
  memory.returned(op.outer());
}

std::vector<WorkerPool::Whole> WorkerPool::describe_waiting() const {
  std::vector<Whole> all;
  for (const auto& [id, job] : jobs_.all())
    all.push_back({id, job.side, outside_key(job), entry_key(job),
                   job.trains ? course_of(job, Course::Of::values) : Course(),
                   job.trains ? course_of(job, Course::Of::structure) : Course()});
  return all;
}

/// Compares jobs with equal keys, in the order in which they began.
void WorkerPool::pair_by(const std::vector<std::pair<JobId, std::optional<std::uint64_t>>>& keys) {
  std::multimap<std::uint64_t, JobId> candidates;
  for (const auto& [id, key] : keys)
    if (key && jobs_.contains(id) && jobs_.at(id).side == Side::candidate)
      candidates.emplace(*key, id);
  for (const auto& [id, key] : keys) {
    if (!key || !jobs_.contains(id) || jobs_.at(id).side != Side::reference) continue;
    const auto partner = candidates.lower_bound(*key);
    if (partner == candidates.end() || partner->first != *key) continue;
    const JobId other = partner->second;
    candidates.erase(partner);
    compare(id, other);
  }
}

/// Trainings whose courses have most in common, those first that have.
void WorkerPool::pair_trainings(const std::vector<Whole>& wholes, Course Whole::*course) {
  std::size_t longest = 0;
  for (const Whole& one : wholes) longest = std::max(longest, common(one.*course, one.*course));
  const auto waits = [&](const Whole& one, Side side) {
    return one.side == side && jobs_.contains(one.id) && jobs_.at(one.id).trains;
  };
  for (; longest > 0; --longest)
    for (const Whole& one : wholes) {
      if (!waits(one, Side::reference)) continue;
      const auto partner = std::find_if(wholes.begin(), wholes.end(), [&](const Whole& other) {
        return waits(other, Side::candidate) && common(one.*course, other.*course) >= longest;
      });
      if (partner != wholes.end()) compare(one.id, partner->id);
    }
}

/// A sample is what its ops make. What they write in place in memory that they have not made, the
/// program held before, and the other run does not leave.
void WorkerPool::note_made_ahead(Side side, const Event& event) {
  auto& made_ahead = on(state_.memory.made_ahead, side);
  for (const Slot& slot : event.slots) {
    if (slot.storage == kNone) continue;
    if (slot.role == Role::output && !is_given(event, slot.storage))
      made_ahead.insert(slot.storage);
    else if (writes(slot) && !made_ahead.contains(slot.storage))
      on(state_.memory.alone, side).wrote(event);
  }
}

void WorkerPool::count_alone(const WorkerJob& job, bool is_sample) {
  left_alone_ = true;
  Coverage& coverage = state_.totals.coverage;
  AloneMemory& memory = on(state_.memory.alone, job.side);
  for (const JobOp& op : job.ops) {
    state_.random.rng.drew_in_thread(*op.window, op.event, job.side);
    if (is_sample) {
      for (std::uint32_t index = op.event; index < op.end(); ++index)
        note_made_ahead(job.side, op.window->event(index));
    } else {
      state_.program.numbers_read.read_alone(job.side, op.outer());
      memory.read(*op.window, op.event, AloneMemory::Partner::none);
      bool draws = false;
      for (std::uint32_t index = op.event; index < op.end(); ++index) {
        const Event& event = op.window->event(index);
        memory.wrote(event);
        draws = draws || (drew(event) && (event.flags & event_flag::explicit_generator));
      }
      memory.changed(op.outer());
      memory.returned(op.outer());
      on(state_.totals.outcomes.extra_draws, job.side) += draws ? 1 : 0;
    }
    (job.side == Side::reference ? coverage.only_reference : coverage.only_candidate) +=
        op.end() - op.event;
    ++left_over_;
  }
}

/// What both runs did with the same values is settled, in whichever jobs. Jobs with something left
/// are partners by what they were as a whole, or else by what is left.
void WorkerPool::pair_waiting(bool by_names) {
  using KeysOfJobs = std::vector<std::pair<JobId, std::optional<std::uint64_t>>>;
  const std::vector<Whole> wholes = describe_waiting();
  jobs_.settle_equal_ops(settled_);
  pair_trainings(wholes, &Whole::values);
  pair_trainings(wholes, &Whole::structure);
  KeysOfJobs outside;
  KeysOfJobs entry;
  for (const Whole& whole : wholes) {
    outside.emplace_back(whole.id, whole.outside);
    entry.emplace_back(whole.id, whole.entry);
  }
  pair_by(outside);
  pair_by(entry);
  if (!by_names) return;
  KeysOfJobs names;
  for (const auto& [id, job] : jobs_.all()) names.emplace_back(id, names_key(job));
  pair_by(names);
}

void WorkerPool::finish() {
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  read(kEnd, kEnd);
  jobs_.settle_equal(0, settled_);
  const bool complete =
      state_.runs.reference->info().complete && state_.runs.candidate->info().complete;
  const bool may_work_ahead = feeds_others_ || !complete;
  if (may_work_ahead)
    for (const JobId id : samples_.made_ahead(jobs_)) {
      count_alone(jobs_.at(id), true);
      jobs_.forget(id);
    }
  pair_waiting(!may_work_ahead);
  for (const auto& [id, job] : jobs_.all()) {
    if (may_work_ahead) {
      count_alone(job);
      continue;
    }
    left_alone_ = true;
    const std::vector<const JobOp*> order = in_order(job);
    const std::vector<std::int64_t> steps = step_numbers(job, order);
    for (std::size_t k = 0; k < order.size(); ++k)
      stand_alone(job.side, *order[k], steps[k], nullptr);
  }
  jobs_.clear();
  if (left_over_ > 0)
    unseen_.push_back(fmt::format(
        "{} of worker threads have no equal in the other run, and nothing that both have reads "
        "what they made",
        core::counted(left_over_, "op")));
}

}  // namespace ulpscope::comparison
