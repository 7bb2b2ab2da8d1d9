#include "compare/align/waiting_jobs.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <utility>

#include "compare/model/structure.hpp"
#include "compare/model/window.hpp"

namespace ulpscope::comparison {
namespace {

/// Events of a thread that are read at a time.
constexpr std::size_t kPiece = 4096;

}  // namespace

WaitingJobs::WaitingJobs(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
                         const Both<std::vector<Lane>>& lanes, bool only_layers, OnOther on_other)
    : on_other_(std::move(on_other)) {
  for (const Side side : kSides)
    for (const Lane& lane : on(lanes, side)) {
      train_ = train_ || lane.role == LaneRole::trainer;
      on(threads_, side)
          .push_back({lane,
                      LaneReader(*on(runs, side), on(ranks, side), lane.id, only_layers),
                      {},
                      false,
                      0,
                      {},
                      {},
                      {}});
    }
}

bool WaitingJobs::read_piece(std::int64_t step, std::int64_t candidate_step) {
  const Both<std::optional<std::size_t>> next{next_thread(Side::reference, step),
                                              next_thread(Side::candidate, candidate_step)};
  if (!next.reference && !next.candidate) return false;
  const bool reference =
      next.reference && (!next.candidate || events_.reference <= events_.candidate);
  const Side side = reference ? Side::reference : Side::candidate;
  read_piece(side, on(threads_, side)[*on(next, side)]);
  return true;
}

void WaitingJobs::clear() {
  waiting_.clear();
  changed_.clear();
}

/// The thread that comes first among those with something unread up to a step.
std::optional<std::size_t> WaitingJobs::next_thread(Side side, std::int64_t step) const {
  std::optional<std::size_t> first;
  const auto& threads = on(threads_, side);
  for (std::size_t k = 0; k < threads.size(); ++k) {
    const LaneReader& reader = threads[k].reader;
    if (!reader.step() || *reader.step() > step) continue;
    if (!first || reader.position() < threads[*first].reader.position()) first = k;
  }
  return first;
}

void WaitingJobs::read_piece(Side side, Thread& thread) {
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
    else
      on_other_(side, thread, window->held(item.event));
  if (!step_ends)
    thread.open = window->from_item(static_cast<std::uint32_t>(window->items().size()));
}

void WaitingJobs::read_training(Side side, EventPlace place) {
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

/// Enters an op as a job, together with the waiting jobs that it reads from.
void WaitingJobs::add(Side side, Thread& thread, JobOp op) {
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
  ++op_count_;
  for (const JobId earlier : fed_by) id = merge(id, earlier);
  const auto [begin, end] =
      std::pair(thread.awaited.lower_bound(position), thread.awaited.upper_bound(last));
  for (auto reader = begin; reader != end; ++reader)
    if (const auto later = find(side, reader->second); later && *later != id)
      id = merge(id, *later);
  thread.awaited.erase(begin, end);
}

/// The waiting jobs that an op reads from. A training may come from another thread: what has not
/// been read in there yet is awaited, and where it has been done with, the new job begins with its
/// steps.
std::set<JobId> WaitingJobs::read_by(Side side, const Thread& thread, const JobOp& op,
                                     WorkerJob& job) {
  std::set<JobId> read;
  for (std::uint32_t index = op.event; index < op.end(); ++index)
    for (const Slot& slot : op.window->event(index).slots) {
      if (slot.role != Role::input || slot.writer == kNone) continue;
      Thread* const from = thread_of(side, slot.writer_lane);
      if (from == nullptr) continue;
      if (from != &thread && !train_) continue;
      if (const auto writer = find(*from, slot.writer)) {
        read.insert(*writer);
      } else if (!train_) {
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
JobId WaitingJobs::merge(JobId one, JobId other) {
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

void WaitingJobs::split(JobId id, EventPlace place) {
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

const WaitingJobs::Thread* WaitingJobs::thread_of(Side side, std::uint32_t lane) const {
  const auto& threads = on(threads_, side);
  const auto found = std::find_if(threads.begin(), threads.end(),
                                  [&](const Thread& thread) { return thread.lane.id == lane; });
  return found == threads.end() ? nullptr : &*found;
}

WaitingJobs::Thread* WaitingJobs::thread_of(Side side, std::uint32_t lane) {
  return const_cast<Thread*>(std::as_const(*this).thread_of(side, lane));
}

std::optional<JobId> WaitingJobs::find(const Thread& thread, std::uint64_t position) {
  auto at = thread.ops.upper_bound(position);
  if (position == kNone || at == thread.ops.begin()) return std::nullopt;
  --at;
  return position <= at->second.last ? std::optional(at->second.job) : std::nullopt;
}

std::optional<JobId> WaitingJobs::find(Side side, EventPlace place) const {
  const Thread* const thread = thread_of(side, place.lane);
  return thread ? find(*thread, place.position) : std::nullopt;
}

void WaitingJobs::enter_changed() {
  for (const JobId id : std::exchange(changed_, {})) {
    WorkerJob& job = waiting_.at(id);
    job.key = content_key(job);
    on(by_key_, job.side).emplace(*job.key, id);
  }
}

/// The job changes: it cannot be found by an equal one until it is entered again.
void WaitingJobs::withdraw(JobId id) {
  WorkerJob& job = waiting_.at(id);
  if (!job.key) return;
  auto& keys = on(by_key_, job.side);
  const auto [begin, end] = keys.equal_range(*job.key);
  const auto at = std::find_if(begin, end, [&](const auto& entry) { return entry.second == id; });
  if (at != end) keys.erase(at);
  job.key.reset();
  changed_.insert(id);
}

std::optional<JobId> WaitingJobs::equal_of(JobId id) const {
  const WorkerJob& job = waiting_.at(id);
  if (!job.key) return std::nullopt;
  const auto& others = on(by_key_, the_other(job.side));
  const auto partner = others.find(*job.key);
  return partner == others.end() ? std::nullopt : std::optional(partner->second);
}

void WaitingJobs::settle_equal(std::size_t most_ops, const OnSettled& settled) {
  for (auto at = waiting_.begin(); at != waiting_.end() && op_count_ > most_ops;) {
    const JobId id = at->first;
    settle(id, settled);
    at = waiting_.upper_bound(id);
  }
}

bool WaitingJobs::settle(JobId id, const OnSettled& settled) {
  enter_changed();
  const auto partner = equal_of(id);
  if (!partner) return false;
  for (const JobOp& op : waiting_.at(id).ops) settled(op);
  forget(id);
  forget(*partner);
  return true;
}

void WaitingJobs::settle_equal_ops(const OnSettled& settled) {
  std::unordered_multimap<std::uint64_t, EventPlace> candidates;
  for (const auto& [id, job] : waiting_)
    if (job.side == Side::candidate)
      for (const JobOp& op : job.ops)
        candidates.emplace(op.content, EventPlace{op.lane, op.outer().position});
  Both<std::set<std::pair<std::uint32_t, std::uint64_t>>> done;
  for (const auto& [id, job] : waiting_) {
    if (job.side != Side::reference) continue;
    for (const JobOp& op : job.ops) {
      const auto equal = candidates.find(op.content);
      if (equal == candidates.end()) continue;
      settled(op);
      done.reference.emplace(op.lane, op.outer().position);
      done.candidate.emplace(equal->second.lane, equal->second.position);
      candidates.erase(equal);
    }
  }
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    auto& [id, job] = *at;
    const auto& of_side = on(done, job.side);
    const auto is_settled = [&](const JobOp& op) {
      return of_side.contains({op.lane, op.outer().position});
    };
    if (std::any_of(job.ops.begin(), job.ops.end(), is_settled)) {
      withdraw(id);
      if (job.trains) note_done(job);
      for (const JobOp& op : job.ops)
        if (is_settled(op)) thread_of(job.side, op.lane)->ops.erase(op.outer().position);
      op_count_ -= std::erase_if(job.ops, is_settled);
    }
    if (job.ops.empty()) changed_.erase(id);
    at = job.ops.empty() ? waiting_.erase(at) : std::next(at);
  }
}

void WaitingJobs::forget(JobId id) {
  withdraw(id);
  const WorkerJob& job = waiting_.at(id);
  if (job.trains) note_done(job);
  for (const JobOp& op : job.ops) thread_of(job.side, op.lane)->ops.erase(op.outer().position);
  op_count_ -= job.ops.size();
  waiting_.erase(id);
  changed_.erase(id);
}

void WaitingJobs::note_done(const WorkerJob& job) {
  const std::int64_t steps = steps_begun(job);
  for (auto op = job.ops.begin(); op != job.ops.end(); ++op)
    if (std::next(op) == job.ops.end() || std::next(op)->lane != op->lane)
      thread_of(job.side, op->lane)->done[op->last()] = steps;
}

}  // namespace ulpscope::comparison
