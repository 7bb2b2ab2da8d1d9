#include "compare/align/worker_job.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "compare/model/content.hpp"
#include "compare/model/draws.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/structure.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] std::uint64_t content_of(const JobOp& op) {
  KeyHash hash;
  for (std::uint32_t index = op.event; index < op.end(); ++index) {
    const Event& event = op.window->event(index);
    const std::uint64_t made = output_key(event);
    hash.add(structure_key(event, Place::ignored)).add(made);
    // The numbers say more than the state, which another thread may change before the op draws.
    if (made == 0 && drew(event)) hash.add(event.rng.before);
  }
  return hash.add(input_key(op.outer())).add(argument_key(op.outer())).value();
}

using Position = std::pair<std::uint32_t, std::uint64_t>;  // lane and position there

[[nodiscard]] Position position(const JobOp& op) { return {op.lane, op.outer().position}; }

/// The op of the job that holds an event; its end where it has none.
[[nodiscard]] std::vector<JobOp>::const_iterator find(const WorkerJob& job, Position event) {
  const auto after =
      std::upper_bound(job.ops.begin(), job.ops.end(), event,
                       [](const Position& at, const JobOp& op) { return at < position(op); });
  if (after == job.ops.begin()) return job.ops.end();
  const auto at = std::prev(after);
  return at->lane == event.first && event.second <= at->last() ? at : job.ops.end();
}

/// Visits where what an op reads was written.
template <class Visit>
void for_each_writer(const JobOp& op, Visit visit) {
  for (std::uint32_t index = op.event; index < op.end(); ++index)
    for (const Slot& slot : op.window->event(index).slots)
      if (slot.role == Role::input && slot.writer != kNone)
        visit(Position{slot.writer_lane, slot.writer});
}

/// The ops of one lane of a job, the first of which have been put in order.
struct Strand {
  std::vector<JobOp>::const_iterator next;
  std::vector<JobOp>::const_iterator end;
};

}  // namespace

JobOp::JobOp(std::shared_ptr<const Window> in, std::uint32_t at, std::int64_t of_step,
             std::uint32_t of_lane)
    : window(std::move(in)), event(at), step(of_step), lane(of_lane), content(content_of(*this)) {}

bool stands_before(const JobOp& a, const JobOp& b) { return position(a) < position(b); }

std::uint64_t content_key(const WorkerJob& job) {
  std::uint64_t sum = 0;
  for (const JobOp& op : job.ops) sum += op.content;
  return KeyHash().add(sum).add(job.ops.size()).value();
}

std::vector<const JobOp*> in_order(const WorkerJob& job) {
  std::vector<const JobOp*> order;
  order.reserve(job.ops.size());
  std::map<std::uint32_t, Strand> strands;
  for (auto op = job.ops.begin(); op != job.ops.end(); ++op)
    strands.try_emplace(op->lane, Strand{op, op}).first->second.end = std::next(op);
  const auto is_ready = [&](const JobOp& op) {
    bool ready = true;
    for_each_writer(op, [&](const Position& writer) {
      const auto other = strands.find(writer.first);
      ready = ready &&
              (writer.first == op.lane || other == strands.end() ||
               other->second.next == other->second.end || position(*other->second.next) > writer);
    });
    return ready;
  };
  while (order.size() < job.ops.size()) {
    const std::size_t before = order.size();
    for (auto& [lane, strand] : strands)
      for (; strand.next != strand.end && is_ready(*strand.next); ++strand.next)
        order.push_back(&*strand.next);
    if (order.size() > before) continue;
    // Only a damaged dump has ops that wait for each other.
    const auto stuck = std::find_if(strands.begin(), strands.end(), [](const auto& strand) {
      return strand.second.next != strand.second.end;
    });
    order.push_back(&*stuck->second.next++);
  }
  return order;
}

std::vector<std::int64_t> step_numbers(const WorkerJob& job,
                                       const std::vector<const JobOp*>& order) {
  std::map<std::pair<std::uint32_t, std::int64_t>, std::int64_t> number_of;
  for (const JobOp* op : order)
    if (job.trains && op->outer().phase == Phase::forward)
      number_of.try_emplace({op->lane, op->step},
                            job.steps_before + static_cast<std::int64_t>(number_of.size()));
  std::vector<std::int64_t> numbers;
  numbers.reserve(order.size());
  std::int64_t current = std::max<std::int64_t>(job.steps_before - 1, 0);
  for (const JobOp* op : order) {
    if (const auto own = number_of.find({op->lane, op->step}); own != number_of.end())
      current = own->second;
    numbers.push_back(job.trains ? current : op->step);
  }
  return numbers;
}

std::int64_t steps_begun(const WorkerJob& job) {
  std::set<std::pair<std::uint32_t, std::int64_t>> begun;
  for (const JobOp& op : job.ops)
    if (op.outer().phase == Phase::forward) begun.emplace(op.lane, op.step);
  return job.steps_before + static_cast<std::int64_t>(begun.size());
}

std::vector<bool> leads_to(const WorkerJob& job, EventPlace place) {
  std::vector<bool> leads(job.ops.size());
  std::vector<Position> writers{{place.lane, place.position}};
  while (!writers.empty()) {
    const auto op = find(job, writers.back());
    writers.pop_back();
    if (op == job.ops.end()) continue;
    const auto index = static_cast<std::size_t>(op - job.ops.begin());
    if (leads[index]) continue;
    leads[index] = true;
    for_each_writer(*op, [&](const Position& writer) { writers.push_back(writer); });
  }
  return leads;
}

Course course_of(const WorkerJob& job, Course::Of what) {
  Course course(what);
  for (const JobOp* op : in_order(job)) course.add(op->outer());
  return course;
}

std::uint64_t names_key(const WorkerJob& job) {
  KeyHash hash;
  for (const JobOp* op : in_order(job)) hash.add(name_key(op->outer()));
  return hash.value();
}

std::optional<std::uint64_t> outside_key(const WorkerJob& job) {
  const auto entry = entry_key(job);
  bool reads = entry.has_value();
  KeyHash hash;
  hash.add(names_key(job)).add(entry.value_or(0));
  for (const JobOp* op : in_order(job))
    for (const Slot& slot : op->outer().slots)
      if (slot.role == Role::input && (slot.flags & slot_flag::unproduced) && holds_digest(slot)) {
        hash.add(slot.digest);
        reads = true;
      }
  return reads ? std::optional(hash.value()) : std::nullopt;
}

std::optional<std::uint64_t> entry_key(const WorkerJob& job) {
  KeyHash hash;
  hash.add(names_key(job));
  for (const JobOp* op : in_order(job)) {
    bool reads = false;
    for (const Slot& slot : op->outer().slots) {
      constexpr std::uint32_t kOfModule = slot_flag::parameter | slot_flag::buffer;
      const bool own =
          slot.writer != kNone && (slot.writer_lane == op->lane ||
                                   find(job, {slot.writer_lane, slot.writer}) != job.ops.end());
      if (slot.role != Role::input || own || !holds_digest(slot) || (slot.flags & kOfModule))
        continue;
      hash.add(slot.digest);
      reads = true;
    }
    if (reads) return hash.value();
  }
  return std::nullopt;
}

}  // namespace ulpscope::comparison
