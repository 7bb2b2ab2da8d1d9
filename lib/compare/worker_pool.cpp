#include "compare/worker_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "compare/finding_writer.hpp"
#include "compare/hash.hpp"
#include "compare/sequence_alignment.hpp"
#include "compare/structure.hpp"
#include "compare/words.hpp"

namespace ulpscope::comparison {
namespace {

/// Ops of waiting jobs kept, of both runs; what waited longest is settled beyond it.
constexpr std::size_t kWaitingOps = 65536;
/// Events of a thread that are read at a time.
constexpr std::size_t kPiece = 4096;

[[nodiscard]] bool holds_digest(const Slot& slot) noexcept {
  constexpr std::uint32_t kNoValue = slot_flag::no_digest | slot_flag::undefined |
                                     slot_flag::overwritten | slot_flag::uninitialised;
  return !(slot.flags & kNoValue);
}

/// The op gives a number back to the program.
[[nodiscard]] bool gives_number(const Event& op) {
  const std::vector<Argument> all = arguments(op);
  return std::any_of(all.begin(), all.end(), [](const Argument& one) { return one.result; });
}

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
    for (const Lane& lane : on(lanes, side))
      on(threads_, side)
          .push_back(
              {lane,
               LaneReader(*on(state.runs, side), on(state.ranks, side), lane.id, state.only_layers),
               {},
               {}});
}

void WorkerPool::read(std::int64_t step, std::int64_t candidate_step) {
  while (true) {
    Both<std::optional<std::size_t>> next{next_thread(Side::reference, step),
                                          next_thread(Side::candidate, candidate_step)};
    if (!next.reference && !next.candidate) return;
    const bool reference =
        next.reference && (!next.candidate || events_.reference <= events_.candidate);
    const Side side = reference ? Side::reference : Side::candidate;
    read_piece(side, *on(next, side));
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

void WorkerPool::read_piece(Side side, std::size_t number) {
  Thread& thread = on(threads_, side)[number];
  const std::int64_t step = *thread.reader.step();
  std::vector<HeldEvent> events = std::exchange(thread.open, {});
  const std::size_t before = events.size();
  thread.reader.read(step, before + kPiece, events);
  on(events_, side) += events.size() - before;
  const bool step_ends = thread.reader.step() != step;
  const auto window = std::make_shared<const Window>(std::move(events), step_ends);
  std::set<JobId> touched;
  for (const Item& item : window->items())
    if (item.op) touched.insert(add(side, number, {window, item.event, step}));
  for (const JobId id : touched)
    if (waiting_.contains(id)) enter(id);
  if (!step_ends)
    thread.open = window->from_item(static_cast<std::uint32_t>(window->items().size()));
}

void WorkerPool::make_room() {
  if (waiting_ops_ <= kWaitingOps) return;
  cancel_equal(kWaitingOps / 2);
  while (waiting_ops_ > kWaitingOps) {
    count_alone(waiting_.begin()->second);
    forget(waiting_.begin()->first);
  }
}

/// Enters an op as a job, together with the waiting jobs of its thread that it reads from.
WorkerPool::JobId WorkerPool::add(Side side, std::size_t number, Op op) {
  Thread& thread = on(threads_, side)[number];
  std::set<JobId> read;
  for (std::uint32_t index = op.event; index < op.end(); ++index)
    for (const Slot& slot : op.window->event(index).slots)
      if (slot.role == Role::input && slot.writer_lane == thread.lane.id)
        if (const auto writer = job_at(thread, slot.writer)) read.insert(*writer);
  // What a loader does after it has read a number may follow from that number. A training goes its
  // way whatever it prints.
  if (!thread.ops.empty() && thread.lane.role != LaneRole::trainer) {
    const Placed& before = std::prev(thread.ops.end())->second;
    if (before.gives_number) read.insert(before.job);
  }
  JobId id = next_++;
  thread.ops[op.outer().position] = {id, op.window->event(op.end() - 1).position,
                                     gives_number(op.outer())};
  waiting_[id] = {side, number, thread.lane.id, {std::move(op)}, std::nullopt};
  ++waiting_ops_;
  for (const JobId earlier : read) id = merge(id, earlier);
  return id;
}

/// Makes one job of two of a thread: the larger one, as each op that changes its job costs time.
WorkerPool::JobId WorkerPool::merge(JobId one, JobId other) {
  const bool into_one = waiting_.at(one).ops.size() > waiting_.at(other).ops.size();
  const JobId into = into_one ? one : other;
  const JobId from = into_one ? other : one;
  withdraw(into);
  withdraw(from);
  Job& target = waiting_.at(into);
  Job& source = waiting_.at(from);
  auto& placed = on(threads_, target.side)[target.thread].ops;
  for (const Op& op : source.ops) placed.at(op.outer().position).job = into;
  const auto middle = static_cast<std::ptrdiff_t>(target.ops.size());
  std::move(source.ops.begin(), source.ops.end(), std::back_inserter(target.ops));
  std::inplace_merge(
      target.ops.begin(), target.ops.begin() + middle, target.ops.end(),
      [](const Op& a, const Op& b) { return a.outer().position < b.outer().position; });
  waiting_.erase(from);
  return into;
}

std::optional<WorkerPool::JobId> WorkerPool::job_at(const Thread& thread,
                                                    std::uint64_t position) const {
  auto at = thread.ops.upper_bound(position);
  if (position == kNone || at == thread.ops.begin()) return std::nullopt;
  --at;
  return position <= at->second.last ? std::optional(at->second.job) : std::nullopt;
}

std::optional<WorkerPool::JobId> WorkerPool::job_at(Side side, EventPlace place) const {
  for (const Thread& thread : on(threads_, side))
    if (thread.lane.id == place.lane) return job_at(thread, place.position);
  return std::nullopt;
}

void WorkerPool::enter(JobId id) {
  withdraw(id);
  Job& job = waiting_.at(id);
  job.key = content_key(job);
  on(by_key_, job.side).emplace(*job.key, id);
}

/// The job cannot be found by an equal one any more, or not yet.
void WorkerPool::withdraw(JobId id) {
  Job& job = waiting_.at(id);
  if (!job.key) return;
  auto& keys = on(by_key_, job.side);
  const auto [begin, end] = keys.equal_range(*job.key);
  const auto at = std::find_if(begin, end, [&](const auto& entry) { return entry.second == id; });
  if (at != end) keys.erase(at);
  job.key.reset();
}

std::optional<WorkerPool::JobId> WorkerPool::equal_of(JobId id) const {
  const Job& job = waiting_.at(id);
  if (!job.key) return std::nullopt;
  const auto& others = on(by_key_, the_other(job.side));
  const auto partner = others.find(*job.key);
  return partner == others.end() ? std::nullopt : std::optional(partner->second);
}

/// Settles the oldest jobs that have an equal, until `most_ops` wait.
void WorkerPool::cancel_equal(std::size_t most_ops) {
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
  Totals& totals = state_.totals;
  for (const Op& op : waiting_.at(id).ops) {
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
  forget(id);
  forget(*partner);
  return true;
}

void WorkerPool::forget(JobId id) {
  withdraw(id);
  const Job& job = waiting_.at(id);
  auto& placed = on(threads_, job.side)[job.thread].ops;
  for (const Op& op : job.ops) placed.erase(op.outer().position);
  waiting_ops_ -= job.ops.size();
  waiting_.erase(id);
}

void WorkerPool::join(EventPlace reference, EventPlace candidate) {
  const auto among = [&](Side side, EventPlace place) {
    const auto& threads = on(threads_, side);
    return std::any_of(threads.begin(), threads.end(),
                       [&](const Thread& thread) { return thread.lane.id == place.lane; });
  };
  if (!among(Side::reference, reference) || !among(Side::candidate, candidate)) return;
  feeds_others_ = true;
  const auto a = job_at(Side::reference, reference);
  const auto b = job_at(Side::candidate, candidate);
  for (const auto& job : {a, b})
    if (job && waiting_.contains(*job)) note_taken(waiting_.at(*job));
  const auto settles = [&](const std::optional<JobId>& job) {
    return !job || !waiting_.contains(*job) || cancel(*job);
  };
  const bool a_settled = settles(a);
  const bool b_settled = settles(b);
  if (!a_settled && !b_settled) compare(*a, *b);
}

Scene WorkerPool::scene(const Job* reference, const Op* reference_op, const Job* candidate,
                        const Op* candidate_op) const {
  Scene scene;
  scene.runs = state_.runs;
  scene.ranks = state_.ranks;
  static const Lane kNoLane;
  scene.lanes = {&kNoLane, &kNoLane};
  scene.windows = {&nothing_, &nothing_};
  if (reference != nullptr) {
    scene.lanes.reference = &threads_.reference[reference->thread].lane;
    scene.windows.reference = reference_op->window.get();
  }
  if (candidate != nullptr) {
    scene.lanes.candidate = &threads_.candidate[candidate->thread].lane;
    scene.windows.candidate = candidate_op->window.get();
  }
  const auto step_of = [&](const Job& job, const Op& op) {
    return is_training(job) ? std::max<std::int64_t>(op.step - first_step(job), 0) : op.step;
  };
  scene.step = reference ? step_of(*reference, *reference_op) : step_of(*candidate, *candidate_op);
  scene.candidate_step =
      candidate ? step_of(*candidate, *candidate_op) : step_of(*reference, *reference_op);
  return scene;
}

bool WorkerPool::is_training(const Job& job) const {
  return on(threads_, job.side)[job.thread].lane.role == LaneRole::trainer;
}

void WorkerPool::compare(JobId reference, JobId candidate) {
  const Job& a = waiting_.at(reference);
  const Job& b = waiting_.at(candidate);
  const auto elements = [](const Job& job) {
    std::vector<SequenceElement> result;
    for (const Op& op : job.ops)
      result.push_back({structure_key(op.outer(), Place::ignored), input_key(op.outer()),
                        output_key(op.outer()), false, argument_key(op.outer())});
    return result;
  };
  std::size_t i = 0;
  std::size_t j = 0;
  std::optional<Source> numbers = state_.drawn_order;  // why what the threads act on differs
  const auto alone = [&](std::size_t i_end, std::size_t j_end) {
    while (i < i_end) stand_alone(a, a.ops[i++], numbers ? &*numbers : nullptr);
    while (j < j_end) stand_alone(b, b.ops[j++], numbers ? &*numbers : nullptr);
  };
  for (const auto& [left, right] : align(elements(a), elements(b)).pairs) {
    alone(left, right);
    const Op& one = a.ops[i++];
    const Op& other = b.ops[j++];
    ++state_.totals.ops.reference;
    ++state_.totals.ops.candidate;
    ++state_.totals.aligned_ops;
    judge_.follow_numbers(numbers);
    if (judge_.judge(scene(&a, &one, &b, &other), {one.event, other.event}).numbers_differ)
      numbers = state_.numbers.source();
  }
  judge_.follow_numbers({});
  alone(a.ops.size(), b.ops.size());
  forget(reference);
  forget(candidate);
}

/// An op that only one of two partners has, or that has no partner at all. Where it is `explained`
/// by numbers that differ, it is no finding of its own.
void WorkerPool::stand_alone(const Job& job, const Op& op, const Source* explained) {
  const bool in_reference = job.side == Side::reference;
  const Scene here =
      in_reference ? scene(&job, &op, nullptr, nullptr) : scene(nullptr, nullptr, &job, &op);
  const EventPair at = in_reference ? EventPair{op.event, kNoIndex} : EventPair{kNoIndex, op.event};
  Coverage& coverage = state_.totals.coverage;
  (in_reference ? coverage.only_reference : coverage.only_candidate) += op.end() - op.event;
  ++on(state_.totals.ops, job.side);
  if (!leaves_value(op.outer())) return;
  const auto enter = [&] {
    return enter_alone(state_, FindingKind::sequence, here, at, op.outer().position,
                       {.harmless = true}, [&](Record& record) {
                         record.finding.diverges = false;
                         on(record.evidence.alone, job.side).emplace_back(op.outer().op);
                         record.finding.notes.push_back(
                             fmt::format("only in the {}: {}", name(job.side), op.outer().op));
                       });
  };
  const Source source = explained ? *explained : enter();
  state_.rng.drew_alone(job.side, *op.window, op.event, here.step, source);
  for (std::uint32_t index = op.event; index < op.end(); ++index)
    judge_.write_alone(here, job.side, index, source);
}

void WorkerPool::pair_rest(JobKey key) {
  std::multimap<std::uint64_t, JobId> candidates;
  for (const auto& [id, job] : waiting_) {
    if (job.side != Side::candidate) continue;
    if (const auto own = key(job)) candidates.emplace(*own, id);
  }
  std::vector<std::pair<JobId, JobId>> pairs;
  for (const auto& [id, job] : waiting_) {
    if (job.side != Side::reference) continue;
    const auto own = key(job);
    const auto partner = own ? candidates.lower_bound(*own) : candidates.end();
    if (partner == candidates.end() || partner->first != *own) continue;
    pairs.emplace_back(id, partner->second);
    candidates.erase(partner);
  }
  for (const auto& [a, b] : pairs) compare(a, b);
}

/// Trainings that begin with the same, those first that do so for longest. (What a loader has left
/// over at the end are samples that nobody took: which ones is a race.)
void WorkerPool::pair_trainings() {
  struct Rest {
    JobId id;
    Course course;
    bool taken = false;
  };
  Both<std::vector<Rest>> rest;
  std::size_t longest = 0;
  for (const auto& [id, job] : waiting_) {
    if (!is_training(job)) continue;
    const Rest& one = on(rest, job.side).emplace_back(Rest{id, course_of(job)});
    longest = std::max(longest, common(one.course, one.course));
  }
  for (; longest > 0; --longest)
    for (Rest& one : rest.reference) {
      const auto partner =
          std::find_if(rest.candidate.begin(), rest.candidate.end(), [&](const Rest& other) {
            return !other.taken && common(one.course, other.course) >= longest;
          });
      if (one.taken || partner == rest.candidate.end()) continue;
      one.taken = partner->taken = true;
      compare(one.id, partner->id);
    }
}

void WorkerPool::note_taken(const Job& job) {
  KeyHash names;
  for (const Op& op : job.ops) taken_.insert(names.add(name_key(op.outer())).value());
}

/// Jobs that do what the beginning of one does that another lane took: how far a loader works ahead
/// until the program ends is a race. Where both runs have some that are not the same as far as they
/// go, they are results like others.
std::set<WorkerPool::JobId> WorkerPool::samples_made_ahead() const {
  struct Sample {
    JobId id;
    std::vector<std::uint64_t> contents;  ///< keys of the first 1, 2, 3, ... ops
    bool same = false;
  };
  Both<std::vector<Sample>> samples;
  for (const auto& [id, job] : waiting_) {
    if (is_training(job) || !taken_.contains(*names_key(job))) continue;
    Sample& sample = on(samples, job.side).emplace_back(Sample{id, {}});
    KeyHash contents;
    for (const Op& op : job.ops)
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
    for (const Sample& sample : on(samples, side))
      if (sample.same || !both_differ) ahead.insert(sample.id);
  return ahead;
}

void WorkerPool::count_alone(const Job& job, bool is_sample) {
  left_alone_ = true;
  Coverage& coverage = state_.totals.coverage;
  AloneMemory& memory = on(state_.alone_memory, job.side);
  for (const Op& op : job.ops) {
    for (std::uint32_t event = op.event; !is_sample && event < op.end(); ++event)
      for (const Slot& slot : op.window->event(event).slots)
        if (writes(slot)) memory.wrote(slot);
    (job.side == Side::reference ? coverage.only_reference : coverage.only_candidate) +=
        op.end() - op.event;
    ++left_over_;
  }
}

void WorkerPool::finish() {
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  read(kEnd, kEnd);
  cancel_equal(0);
  pair_rest(outside_key);
  pair_rest(entry_key);
  pair_trainings();
  const bool complete =
      state_.runs.reference->info().complete && state_.runs.candidate->info().complete;
  if (!feeds_others_ && complete) {
    pair_rest(names_key);
    left_alone_ = left_alone_ || !waiting_.empty();
    for (const auto& [id, job] : waiting_)
      for (const Op& op : job.ops) stand_alone(job, op, nullptr);
  } else {
    const std::set<JobId> ahead = samples_made_ahead();
    for (const auto& [id, job] : waiting_) count_alone(job, ahead.contains(id));
  }
  waiting_.clear();
  if (left_over_ > 0)
    unseen_.push_back(fmt::format(
        "{} of worker threads have no equal in the other run, and nothing that both have reads "
        "what they made",
        counted(left_over_, "op")));
}

Course WorkerPool::course_of(const Job& job) {
  Course course;
  for (const Op& op : job.ops) course.add(op.outer());
  return course;
}

std::int64_t WorkerPool::first_step(const Job& job) {
  const auto forward = std::find_if(job.ops.begin(), job.ops.end(), [](const Op& op) {
    return op.outer().phase == Phase::forward;
  });
  return forward == job.ops.end() ? job.ops.front().step : forward->step;
}

/// Equal for jobs that did the same with the same values.
std::uint64_t WorkerPool::content_key(const Job& job) {
  KeyHash hash;
  for (const Op& op : job.ops) {
    for (std::uint32_t index = op.event; index < op.end(); ++index) {
      const Event& event = op.window->event(index);
      hash.add(structure_key(event, Place::ignored)).add(output_key(event));
      if (event.flags & event_flag::seeded && event.rng.before != event.rng.after)
        hash.add(event.rng.before);
    }
    const Event& outer = op.outer();
    hash.add(input_key(outer)).add(argument_key(outer));
  }
  return hash.value();
}

/// Equal for jobs of the same ops that read the same from outside of recorded ops. Empty where a
/// job reads nothing that could tell it from others.
std::optional<std::uint64_t> WorkerPool::outside_key(const Job& job) {
  const auto entry = entry_key(job);
  bool reads = entry.has_value();
  KeyHash hash;
  hash.add(*names_key(job)).add(entry.value_or(0));
  for (const Op& op : job.ops)
    for (const Slot& slot : op.outer().slots)
      if (slot.role == Role::input && (slot.flags & slot_flag::unproduced) && holds_digest(slot)) {
        hash.add(slot.digest);
        reads = true;
      }
  return reads ? std::optional(hash.value()) : std::nullopt;
}

/// Equal for jobs of the same ops whose first values from elsewhere are the same, those of modules
/// aside: what a request brings, not what serves it. Empty where a job reads no such value.
std::optional<std::uint64_t> WorkerPool::entry_key(const Job& job) {
  KeyHash hash;
  hash.add(*names_key(job));
  for (const Op& op : job.ops) {
    bool reads = false;
    for (const Slot& slot : op.outer().slots) {
      constexpr std::uint32_t kOfModule = slot_flag::parameter | slot_flag::buffer;
      const bool own = slot.writer != kNone && slot.writer_lane == job.lane;
      if (slot.role != Role::input || own || !holds_digest(slot) || (slot.flags & kOfModule))
        continue;
      hash.add(slot.digest);
      reads = true;
    }
    if (reads) return hash.value();
  }
  return std::nullopt;
}

std::optional<std::uint64_t> WorkerPool::names_key(const Job& job) {
  KeyHash hash;
  for (const Op& op : job.ops) hash.add(name_key(op.outer()));
  return hash.value();
}

}  // namespace ulpscope::comparison
