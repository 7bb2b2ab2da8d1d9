#include "compare/align/thread_draws.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compare/align/data_order.hpp"
#include "compare/align/lane_ops.hpp"
#include "compare/model/draws.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/structure.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::size_t kMostDraws = std::size_t{1} << 20U;

/// Its role and its order in that.
using Thread = std::pair<LaneRole, std::uint32_t>;

[[nodiscard]] Thread thread_of(const Lane& lane) { return {lane.role, lane.ordinal}; }

/// Who has drawn, once or more often.
struct Drawn {
  Thread by;
  EventPlace first;
  Digest state;  ///< before the first of these draws
  bool by_several = false;
  bool known = false;  ///< who has created that thread
};

[[nodiscard]] bool tells_who(const Drawn& drawn) { return drawn.known && !drawn.by_several; }

using DrawnBy = std::unordered_map<std::uint64_t, Drawn>;

void add(DrawnBy& draws, std::uint64_t key, const Event& op, const Lane& lane) {
  if (draws.size() >= kMostDraws) return;
  const Drawn one{
      thread_of(lane), {lane.id, op.position}, op.rng.before, false, !lane.created_by.empty()};
  Drawn& known = draws.try_emplace(key, one).first->second;
  known.by_several = known.by_several || known.by != one.by;
}

/// The draws of a rank. What they gave tells them: the state is looked at before, and another
/// thread may draw in between.
class Draws {
 public:
  Draws(const Run& run, std::uint32_t rank) : run_(run), rank_(rank) {}

  [[nodiscard]] const DrawnBy& numbers() const noexcept { return numbers_; }

  void add(const Event& op, const Lane& lane) {
    const std::uint64_t made = output_key(op);
    if (made != 0)
      comparison::add(numbers_, KeyHash().add(structure_key(op, Place::ignored)).add(made).value(),
                      op, lane);
    comparison::add(states_, KeyHash().add(op.rng.after).value(), op, lane);
  }

  /// The generator was brought to its state by a draw elsewhere, and what is made of the numbers
  /// does not wait for that one's.
  [[nodiscard]] bool races(const Drawn& drawn) {
    const auto found = states_.find(KeyHash().add(drawn.state).value());
    if (found == states_.end()) return false;
    const Drawn& last = found->second;
    if (last.by_several) return true;
    if (last.by == drawn.by) return false;
    if (!order_) order_.emplace(run_, rank_);
    const EventPlace use = order_->meets_others(drawn.first);
    return use.position == kNone || !order_->follows(use, last.first);
  }

 private:
  const Run& run_;
  std::uint32_t rank_;
  DrawnBy numbers_;
  DrawnBy states_;  ///< that draws led to
  std::optional<DataOrder> order_;
};

/// A thread drew numbers that a different one drew in the other run.
[[nodiscard]] bool drew_in_another_order(const Both<const Run*>& runs,
                                         const Both<std::uint32_t>& ranks,
                                         const Both<std::vector<Lane>>& threads) {
  Both<Draws> draws{{*runs.reference, ranks.reference}, {*runs.candidate, ranks.candidate}};
  const auto for_each_draw = [&](Side side, const Lane& lane, auto visit) {
    for_each_op(*on(runs, side), on(ranks, side), lane.id, [&](const Event& op, std::int64_t) {
      if (drew(op)) visit(op);
    });
  };
  for (const Side side : kSides) {
    Draws& own = on(draws, side);
    for (const Lane& lane : on(threads, side))
      for_each_draw(side, lane, [&](const Event& op) { own.add(op, lane); });
    if (own.numbers().empty()) return false;
  }
  const auto differs = [&](const auto& drawn) {
    const auto found = draws.candidate.numbers().find(drawn.first);
    if (found == draws.candidate.numbers().end()) return false;
    const Drawn& one = drawn.second;
    const Drawn& other = found->second;
    return one.by != other.by && tells_who(one) && tells_who(other) &&
           (draws.reference.races(one) || draws.candidate.races(other));
  };
  const DrawnBy& numbers = draws.reference.numbers();
  return std::any_of(numbers.begin(), numbers.end(), differs);
}

/// What threads did.
struct Work {
  std::map<Thread, std::uint64_t> of_each;                  ///< which ops, in which steps
  std::unordered_map<std::uint64_t, std::uint64_t> of_all;  ///< how often what, with which values

  void add(const Thread& thread, std::int64_t step, const Event& op) {
    const std::uint64_t structure = structure_key(op, Place::ignored);
    std::uint64_t& own = of_each[thread];
    own = KeyHash().add(own).add(structure).add(static_cast<std::uint64_t>(step)).value();
    ++of_all[KeyHash().add(structure).add(input_key(op)).add(output_key(op)).value()];
  }
};

}  // namespace

DrawRace race_for_draws(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks) {
  Both<std::vector<Lane>> threads;
  for (const Side side : kSides) {
    on(threads, side) = on(runs, side)->lanes(on(ranks, side));
    std::erase_if(on(threads, side), [](const Lane& lane) {
      return lane.role != LaneRole::trainer && lane.role != LaneRole::thread;
    });
  }
  if (std::min(threads.reference.size(), threads.candidate.size()) < 2 ||
      !drew_in_another_order(runs, ranks, threads))
    return DrawRace::none;
  Both<Work> work;
  for (const Side side : kSides)
    for (const Lane& lane : on(threads, side))
      for_each_op(*on(runs, side), on(ranks, side), lane.id,
                  [&](const Event& op, std::int64_t step) {
                    on(work, side).add(thread_of(lane), step, op);
                  });
  return work.reference.of_each == work.candidate.of_each &&
                 work.reference.of_all != work.candidate.of_all
             ? DrawRace::fixed_work
             : DrawRace::any_work;
}

}  // namespace ulpscope::comparison
