#include "compare/diff/worker_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>

#include "compare/align/sequence_alignment.hpp"
#include "compare/diff/explain/spread.hpp"
#include "compare/diff/finding_writer.hpp"
#include "compare/diff/numbers_read.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/structure.hpp"
#include "compare/model/words.hpp"
#include "core/counts.hpp"

namespace ulpscope::comparison {
namespace {

/// Ops of waiting jobs kept, of both runs; what waited longest is settled beyond it.
constexpr std::size_t kWaitingOps = 65536;
/// Events of a thread that are read at a time.
constexpr std::size_t kPiece = 4096;

/// Handing out memory and making views leaves nothing that could differ.
[[nodiscard]] bool leaves_value(const Event& event) {
  return std::any_of(event.slots.begin(), event.slots.end(), [](const Slot& slot) {
    return slot.role != Role::input && holds_digest(slot) && !(slot.flags & slot_flag::view);
  });
}

}  // namespace

WorkerPool::WorkerPool(RankState& state, const Both<std::vector<Lane>>& lanes)
    : state_(state), judge_(state), nothing_({}, true) {
  for (const Side side : kSides)
    for (const Lane& lane : on(lanes, side)) {
      trains_ = trains_ || lane.role == LaneRole::trainer;
      on(threads_, side)
          .push_back(
              {lane,
               LaneReader(*on(state.runs, side), on(state.ranks, side), lane.id, state.only_layers),
               {},
               false,
               0,
               {},
               {},
               {}});
    }
}

void WorkerPool::read(std::int64_t step, std::int64_t candidate_step) {
  while (true) {
    Both<std::optional<std::size_t>> next{next_thread(Side::reference, step),
                                          next_thread(Side::candidate, candidate_step)};
    if (!next.reference && !next.candidate) return;
    const bool reference =
        next.reference && (!next.candidate || events_.reference <= events_.candidate);
    const Side side = reference ? Side::reference : Side::candidate;
    read_piece(side, on(threads_, side)[*on(next, side)]);
    make_room();
  }
}

/// The thread that comes first among those with something unread up to a step.
std::optional<std::size_t> WorkerPool::next_thread(Side side, std::int64_t step) const {
  std::optional<std::size_t> first;
  const auto& threads = on(threads_, side);
  for (std::size_t k = 0; k < threads.size(); ++k) {
    const LaneReader& reader = threads[k].reader;
    if (!reader.step() || *reader.step() > step) continue;
    if (!first || reader.position() < threads[*first].reader.position()) first = k;
  }
  return first;
}

void WorkerPool::read_piece(Side side, Thread& thread) {
  const std::int64_t step = *thread.reader.step();
  std::vector<HeldEvent> events = std::exchange(thread.open, {});
  const std::size_t before = events.size();
  thread.reader.read(step, before + kPiece, events);
  on(events_, side) += events.size() - before;
  const bool step_ends = thread.reader.step() != step;
  const auto window = std::make_shared<const Window>(std::move(events), step_ends);
  for (const Item& item : window->items())
    if (item.op)
      add(side, thread, {window, item.event, step, thread.lane.id});
    else if (window->event(item.event).op == kFreedParameters)
      on(state_.freed, side).push_back({window->held(item.event), thread.lane});
  if (!step_ends)
    thread.open = window->from_item(static_cast<std::uint32_t>(window->items().size()));
}

/// Takes in what leads to an event of a training, in whichever threads that is.
void WorkerPool::read_training(Side side, EventPlace place) {
  const auto read_to = [&](Thread& thread, std::uint64_t position) {
    while (thread.added <= position && thread.reader.step()) read_piece(side, thread);
  };
  if (Thread* const thread = thread_of(side, place.lane)) read_to(*thread, place.position);
  auto& threads = on(threads_, side);
  for (std::size_t k = 0; k < threads.size();) {
    Thread& thread = threads[k];
    if (thread.awaited.empty()) {
      ++k;
      continue;
    }
    const std::uint64_t position = thread.awaited.rbegin()->first;
    read_to(thread, position);
    thread.awaited.erase(thread.awaited.begin(), thread.awaited.upper_bound(position));
    k = 0;
  }
}

void WorkerPool::make_room() {
  if (waiting_ops_ <= kWaitingOps) return;
  cancel_equal(kWaitingOps / 2);
  if (waiting_ops_ > kWaitingOps) cancel_equal_ops();
  while (waiting_ops_ > kWaitingOps) {
    count_alone(waiting_.begin()->second);
    forget(waiting_.begin()->first);
  }
}

/// Enters an op as a job, together with the waiting jobs that it reads from.
void WorkerPool::add(Side side, Thread& thread, JobOp op) {
  const std::uint64_t position = op.outer().position;
  const std::uint64_t last = op.last();
  thread.added = last + 1;
  WorkerJob job;
  job.side = side;
  job.trains = thread.lane.role == LaneRole::trainer;
  std::set<JobId> fed_by = read_by(side, thread, op, job);
  JobId id = next_++;
  thread.ops[position] = {id, last, gives_number(op.outer())};
  job.ops.push_back(std::move(op));
  waiting_.emplace(id, std::move(job));
  changed_.insert(id);
  ++waiting_ops_;
  for (const JobId earlier : fed_by) id = merge(id, earlier);
  const auto [begin, end] =
      std::pair(thread.awaited.lower_bound(position), thread.awaited.upper_bound(last));
  for (auto reader = begin; reader != end; ++reader)
    if (const auto later = job_at(side, reader->second); later && *later != id)
      id = merge(id, *later);
  thread.awaited.erase(begin, end);
}

/// The waiting jobs that an op reads from. A training may come from another thread: what has not
/// been read in there yet is awaited, and where it has been done with, the new job begins with its
/// steps.
std::set<WorkerPool::JobId> WorkerPool::read_by(Side side, const Thread& thread, const JobOp& op,
                                                WorkerJob& job) {
  std::set<JobId> read;
  for (std::uint32_t index = op.event; index < op.end(); ++index)
    for (const Slot& slot : op.window->event(index).slots) {
      if (slot.role != Role::input || slot.writer == kNone) continue;
      Thread* const from = thread_of(side, slot.writer_lane);
      if (from == nullptr) continue;
      if (from != &thread && !trains_) continue;
      if (const auto writer = job_at(*from, slot.writer)) {
        read.insert(*writer);
      } else if (!trains_) {
        continue;
      } else if (const auto done = from->done.lower_bound(slot.writer); done != from->done.end()) {
        job.steps_before = std::max(job.steps_before, done->second);
      } else if (slot.writer >= from->added) {
        from->awaited.emplace(slot.writer, EventPlace{op.lane, op.outer().position});
      }
    }
  // What a loader does after it has read a number may follow from that number. A training goes its
  // way whatever it prints.
  if (!thread.ops.empty() && !job.trains) {
    const Placed& before = std::prev(thread.ops.end())->second;
    if (before.gives_number) read.insert(before.job);
  }
  return read;
}

/// Makes one job of two: the larger one, as each op that changes its job costs time.
WorkerPool::JobId WorkerPool::merge(JobId one, JobId other) {
  const bool into_one = waiting_.at(one).ops.size() > waiting_.at(other).ops.size();
  const JobId into = into_one ? one : other;
  const JobId from = into_one ? other : one;
  withdraw(into);
  withdraw(from);
  WorkerJob& target = waiting_.at(into);
  WorkerJob& source = waiting_.at(from);
  for (const JobOp& op : source.ops)
    thread_of(target.side, op.lane)->ops.at(op.outer().position).job = into;
  const auto middle = static_cast<std::ptrdiff_t>(target.ops.size());
  std::move(source.ops.begin(), source.ops.end(), std::back_inserter(target.ops));
  std::inplace_merge(target.ops.begin(), target.ops.begin() + middle, target.ops.end(),
                     stands_before);
  target.trains = target.trains || source.trains;
  target.steps_before = std::max(target.steps_before, source.steps_before);
  waiting_.erase(from);
  changed_.erase(from);
  return into;
}

/// Leaves of a training what an event follows from, and makes a job of its own of the rest.
void WorkerPool::split(JobId id, EventPlace place) {
  WorkerJob& job = waiting_.at(id);
  const std::vector<bool> leads = leads_to(job, place);
  std::vector<JobOp> kept;
  WorkerJob rest;
  rest.side = job.side;
  rest.trains = job.trains;
  for (std::size_t k = 0; k < leads.size(); ++k)
    (leads[k] ? kept : rest.ops).push_back(std::move(job.ops[k]));
  job.ops = std::move(kept);
  if (rest.ops.empty()) return;
  withdraw(id);
  rest.steps_before = steps_begun(job);
  const JobId later = next_++;
  for (const JobOp& op : rest.ops)
    thread_of(job.side, op.lane)->ops.at(op.outer().position).job = later;
  waiting_.emplace(later, std::move(rest));
  changed_.insert(later);
}

WorkerPool::Thread* WorkerPool::thread_of(Side side, std::uint32_t lane) {
  auto& threads = on(threads_, side);
  const auto found = std::find_if(threads.begin(), threads.end(),
                                  [&](const Thread& thread) { return thread.lane.id == lane; });
  return found == threads.end() ? nullptr : &*found;
}

std::optional<WorkerPool::JobId> WorkerPool::job_at(const Thread& thread, std::uint64_t position) {
  auto at = thread.ops.upper_bound(position);
  if (position == kNone || at == thread.ops.begin()) return std::nullopt;
  --at;
  return position <= at->second.last ? std::optional(at->second.job) : std::nullopt;
}

std::optional<WorkerPool::JobId> WorkerPool::job_at(Side side, EventPlace place) {
  const Thread* const thread = thread_of(side, place.lane);
  return thread ? job_at(*thread, place.position) : std::nullopt;
}

void WorkerPool::enter_changed() {
  for (const JobId id : std::exchange(changed_, {})) {
    WorkerJob& job = waiting_.at(id);
    job.key = content_key(job);
    on(by_key_, job.side).emplace(*job.key, id);
  }
}

/// The job changes: it cannot be found by an equal one until it is entered again.
void WorkerPool::withdraw(JobId id) {
  WorkerJob& job = waiting_.at(id);
  if (!job.key) return;
  auto& keys = on(by_key_, job.side);
  const auto [begin, end] = keys.equal_range(*job.key);
  const auto at = std::find_if(begin, end, [&](const auto& entry) { return entry.second == id; });
  if (at != end) keys.erase(at);
  job.key.reset();
  changed_.insert(id);
}

std::optional<WorkerPool::JobId> WorkerPool::equal_of(JobId id) const {
  const WorkerJob& job = waiting_.at(id);
  if (!job.key) return std::nullopt;
  const auto& others = on(by_key_, the_other(job.side));
  const auto partner = others.find(*job.key);
  return partner == others.end() ? std::nullopt : std::optional(partner->second);
}

/// Settles the oldest jobs that have an equal, until `most_ops` wait.
void WorkerPool::cancel_equal(std::size_t most_ops) {
  enter_changed();
  for (auto at = waiting_.begin(); at != waiting_.end() && waiting_ops_ > most_ops;) {
    const JobId id = at->first;
    cancel(id);
    at = waiting_.upper_bound(id);
  }
}

/// Cancels a job against an equal one of the other run; false if none waits.
bool WorkerPool::cancel(JobId id) {
  const auto partner = equal_of(id);
  if (!partner) return false;
  for (const JobOp& op : waiting_.at(id).ops) count_aligned(op);
  forget(id);
  forget(*partner);
  return true;
}

/// Settles the ops that the other run's jobs have done too, however far those are.
void WorkerPool::cancel_equal_ops() {
  std::unordered_multimap<std::uint64_t, EventPlace> candidates;
  for (const auto& [id, job] : waiting_)
    if (job.side == Side::candidate)
      for (const JobOp& op : job.ops)
        candidates.emplace(op.content, EventPlace{op.lane, op.outer().position});
  Both<std::set<std::pair<std::uint32_t, std::uint64_t>>> settled;
  for (const auto& [id, job] : waiting_) {
    if (job.side != Side::reference) continue;
    for (const JobOp& op : job.ops) {
      const auto equal = candidates.find(op.content);
      if (equal == candidates.end()) continue;
      count_aligned(op);
      settled.reference.emplace(op.lane, op.outer().position);
      settled.candidate.emplace(equal->second.lane, equal->second.position);
      candidates.erase(equal);
    }
  }
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    auto& [id, job] = *at;
    const auto& done = on(settled, job.side);
    const auto is_settled = [&](const JobOp& op) {
      return done.contains({op.lane, op.outer().position});
    };
    if (std::any_of(job.ops.begin(), job.ops.end(), is_settled)) {
      withdraw(id);
      if (job.trains) note_done(job);
      for (const JobOp& op : job.ops)
        if (is_settled(op)) thread_of(job.side, op.lane)->ops.erase(op.outer().position);
      waiting_ops_ -= std::erase_if(job.ops, is_settled);
    }
    if (job.ops.empty()) changed_.erase(id);
    at = job.ops.empty() ? waiting_.erase(at) : std::next(at);
  }
}

void WorkerPool::count_aligned(const JobOp& op) {
  Totals& totals = state_.totals;
  totals.coverage.aligned += op.end() - op.event;
  ++totals.ops.reference;
  ++totals.ops.candidate;
  ++totals.aligned_ops;
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

void WorkerPool::forget(JobId id) {
  withdraw(id);
  const WorkerJob& job = waiting_.at(id);
  if (job.trains) note_done(job);
  for (const JobOp& op : job.ops) thread_of(job.side, op.lane)->ops.erase(op.outer().position);
  waiting_ops_ -= job.ops.size();
  waiting_.erase(id);
  changed_.erase(id);
}

void WorkerPool::note_done(const WorkerJob& job) {
  const std::int64_t steps = steps_begun(job);
  for (auto op = job.ops.begin(); op != job.ops.end(); ++op)
    if (std::next(op) == job.ops.end() || std::next(op)->lane != op->lane)
      thread_of(job.side, op->lane)->done[op->last()] = steps;
}

void WorkerPool::join(EventPlace reference, EventPlace candidate) {
  const Both<EventPlace> places{reference, candidate};
  Both<Thread*> threads;
  for (const Side side : kSides) {
    on(threads, side) = thread_of(side, on(places, side).lane);
    if (on(threads, side) == nullptr) return;
  }
  feeds_others_ = true;
  for (const Side side : kSides) on(threads, side)->feeds_others = true;
  Both<std::optional<JobId>> jobs;
  for (const Side side : kSides) {
    if (trains_) read_training(side, on(places, side));
    on(jobs, side) = job_at(side, on(places, side));
    if (const auto& job = on(jobs, side); job && !waiting_.at(*job).trains)
      note_taken(waiting_.at(*job));
  }
  const auto trains = [&](const std::optional<JobId>& job) {
    return job && waiting_.at(*job).trains;
  };
  if (jobs.reference && jobs.candidate && (trains(jobs.reference) || trains(jobs.candidate)))
    for (const Side side : kSides) split(*on(jobs, side), on(places, side));
  enter_changed();
  const auto settles = [&](const std::optional<JobId>& job) {
    return !job || !waiting_.contains(*job) || cancel(*job);
  };
  const bool a_settled = settles(jobs.reference);
  const bool b_settled = settles(jobs.candidate);
  if (!a_settled && !b_settled) compare(*jobs.reference, *jobs.candidate);
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
    on(scene.lanes, side) = op ? &thread_of(side, op->lane)->lane : &kNoLane;
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
  std::vector<Row> a = rows_of(waiting_.at(reference));
  std::vector<Row> b = rows_of(waiting_.at(candidate));
  // What threads did is in order only as far as they read from each other. What both runs did with
  // the same values needs none.
  if (waiting_.at(reference).trains || waiting_.at(candidate).trains) {
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
  forget(reference);
  forget(candidate);
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
  state_.numbers_read.read_alone(side, op.outer());
  AloneMemory& memory = on(state_.alone_memory, side);
  memory.read(*op.window, op.event, false);
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
  state_.rng.drew_alone(side, *op.window, op.event, RngTracker::kNoLane, here.step, source);
  for (std::uint32_t index = op.event; index < op.end(); ++index)
    write_alone(state_, here, side, index, source);
  memory.changed(op.outer());
}

std::vector<WorkerPool::Whole> WorkerPool::describe_waiting() const {
  std::vector<Whole> all;
  for (const auto& [id, job] : waiting_)
    all.push_back({id, job.side, outside_key(job), entry_key(job),
                   job.trains ? course_of(job, Course::Of::values) : Course(),
                   job.trains ? course_of(job, Course::Of::structure) : Course()});
  return all;
}

/// Compares jobs with equal keys, in the order in which they began.
void WorkerPool::pair_by(const std::vector<std::pair<JobId, std::optional<std::uint64_t>>>& keys) {
  std::multimap<std::uint64_t, JobId> candidates;
  for (const auto& [id, key] : keys)
    if (key && waiting_.contains(id) && waiting_.at(id).side == Side::candidate)
      candidates.emplace(*key, id);
  for (const auto& [id, key] : keys) {
    if (!key || !waiting_.contains(id) || waiting_.at(id).side != Side::reference) continue;
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
    return one.side == side && waiting_.contains(one.id) && waiting_.at(one.id).trains;
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

void WorkerPool::note_taken(const WorkerJob& job) {
  KeyHash names;
  for (const JobOp& op : job.ops) taken_.insert(names.add(name_key(op.outer())).value());
}

/// Jobs that do what the beginning of one does that another lane took: how far a loader works ahead
/// until the program ends is a race. Where both runs have some that are not the same as far as they
/// go, they are results like others. So are those of a thread of which nothing was taken, where the
/// other run has a job left that is no such beginning: its partner may have become that.
std::set<WorkerPool::JobId> WorkerPool::samples_made_ahead() {
  struct Sample {
    JobId id;
    std::vector<std::uint64_t> contents;  ///< keys of the first 1, 2, 3, ... ops
    bool same = false;
  };
  Both<std::vector<Sample>> samples;
  Both<bool> others{};
  for (const auto& [id, job] : waiting_) {
    if (job.trains || !taken_.contains(names_key(job))) {
      on(others, job.side) = true;
      continue;
    }
    Sample& sample = on(samples, job.side).emplace_back(Sample{id, {}});
    KeyHash contents;
    for (const JobOp& op : job.ops)
      sample.contents.push_back(contents.add(structure_key(op.outer(), Place::ignored))
                                    .add(argument_key(op.outer()))
                                    .add(input_key(op.outer()))
                                    .add(output_key(op.outer()))
                                    .value());
  }
  for (Sample& one : samples.reference) {
    const auto partner =
        std::find_if(samples.candidate.begin(), samples.candidate.end(), [&](const Sample& other) {
          const std::size_t both = std::min(one.contents.size(), other.contents.size());
          return !other.same && one.contents[both - 1] == other.contents[both - 1];
        });
    if (partner != samples.candidate.end()) one.same = partner->same = true;
  }
  const auto differs = [](const Sample& sample) { return !sample.same; };
  const bool both_differ =
      std::any_of(samples.reference.begin(), samples.reference.end(), differs) &&
      std::any_of(samples.candidate.begin(), samples.candidate.end(), differs);
  std::set<JobId> ahead;
  for (const Side side : kSides)
    for (const Sample& sample : on(samples, side)) {
      const WorkerJob& job = waiting_.at(sample.id);
      const Thread& thread = *thread_of(side, job.ops.front().lane);
      // What both runs did after it in the same thread was not ahead of it.
      const bool is_last =
          thread.ops.empty() || thread.ops.rbegin()->second.last + 1 == thread.added;
      const bool feeds = thread.feeds_others;
      if (is_last && (sample.same || !both_differ) && (feeds || !on(others, the_other(side))))
        ahead.insert(sample.id);
    }
  return ahead;
}

void WorkerPool::count_alone(const WorkerJob& job, bool is_sample) {
  left_alone_ = true;
  Coverage& coverage = state_.totals.coverage;
  AloneMemory& memory = on(state_.alone_memory, job.side);
  for (const JobOp& op : job.ops) {
    if (!is_sample) {
      state_.numbers_read.read_alone(job.side, op.outer());
      memory.read(*op.window, op.event, false);
      bool draws = false;
      for (std::uint32_t index = op.event; index < op.end(); ++index) {
        const Event& event = op.window->event(index);
        memory.wrote(event);
        draws = draws || (drew(event) && (event.flags & event_flag::explicit_generator));
      }
      memory.changed(op.outer());
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
  using Keys = std::vector<std::pair<JobId, std::optional<std::uint64_t>>>;
  const std::vector<Whole> wholes = describe_waiting();
  cancel_equal_ops();
  pair_trainings(wholes, &Whole::values);
  pair_trainings(wholes, &Whole::structure);
  Keys outside;
  Keys entry;
  for (const Whole& whole : wholes) {
    outside.emplace_back(whole.id, whole.outside);
    entry.emplace_back(whole.id, whole.entry);
  }
  pair_by(outside);
  pair_by(entry);
  if (!by_names) return;
  Keys names;
  for (const auto& [id, job] : waiting_) names.emplace_back(id, names_key(job));
  pair_by(names);
}

void WorkerPool::finish() {
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  read(kEnd, kEnd);
  cancel_equal(0);
  const bool complete =
      state_.runs.reference->info().complete && state_.runs.candidate->info().complete;
  const bool may_work_ahead = feeds_others_ || !complete;
  if (may_work_ahead)
    for (const JobId id : samples_made_ahead()) {
      count_alone(waiting_.at(id), true);
      forget(id);
    }
  pair_waiting(!may_work_ahead);
  for (const auto& [id, job] : waiting_) {
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
  waiting_.clear();
  changed_.clear();
  if (left_over_ > 0)
    unseen_.push_back(fmt::format(
        "{} of worker threads have no equal in the other run, and nothing that both have reads "
        "what they made",
        core::counted(left_over_, "op")));
}

}  // namespace ulpscope::comparison
