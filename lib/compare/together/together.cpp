#include "compare/together/together.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

#include "compare/measure/tensor_bytes.hpp"
#include "compare/measure/value_share.hpp"
#include "compare/prepared_runs.hpp"
#include "compare/together/messages.hpp"
#include "compare/workforce.hpp"

namespace ulpscope {
namespace {

using namespace comparison;
using Pairs = std::vector<Both<std::uint32_t>>;

/// Runs `task`; an exception is trouble at `item`, `position()`.
template <class Task, class Position>
[[nodiscard]] std::optional<Trouble> trouble_of(const Task& task, std::uint64_t item,
                                                const Position& position) {
  try {
    task();
    return std::nullopt;
  } catch (const Error& error) {
    return Trouble{item, position(), false, error.code(), error.what(), std::string(error.hint())};
  } catch (const std::bad_alloc&) {
    return Trouble{item, position(), true, {}, {}, {}};
  }
}

/// The first of two in the order of the work.
[[nodiscard]] std::optional<Trouble> first_of(std::optional<Trouble> a, std::optional<Trouble> b) {
  if (!a || !b) return a ? a : b;
  return std::tie(b->item, b->position) < std::tie(a->item, a->position) ? b : a;
}

/// Takes what all members deliver, even if `take` throws for one of them: no member is left
/// waiting.
template <class Take>
void gather_all(Team& team, const std::string& own, const Take& take) {
  std::exception_ptr thrown;
  team.gather(own, [&](std::uint32_t, const std::string& handed_in) {
    if (thrown) return;
    try {
      take(handed_in);
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  if (thrown) std::rethrow_exception(thrown);
}

/// Which ranks a member works on, and with how many others it shares each.
struct Part {
  std::size_t first_pair = 0;
  std::size_t pairs = 0;
  std::size_t crew = 1;  ///< members that walk the same rank
  std::size_t in_crew = 0;
};

/// Neighbors get neighboring ranks, so that member by member is rank by rank. With more members
/// than ranks each rank has a crew.
[[nodiscard]] Part part_of(std::size_t member, std::size_t members, std::size_t pairs) {
  if (pairs == 0) return {};
  if (pairs >= members) {
    const std::size_t first = member * pairs / members;
    return {first, (member + 1) * pairs / members - first, 1, 0};
  }
  const auto first_member = [&](std::size_t pair) { return (pair * members + pairs - 1) / pairs; };
  const std::size_t pair = member * pairs / members;
  return {pair, 1, first_member(pair + 1) - first_member(pair), member - first_member(pair)};
}

/// What every member does for a comparison, the first one included.
class Member {
 public:
  Member(Team& team, PreparedRuns& runs, const CompareOptions& options)
      : team_(team), runs_(runs), options_(options) {}

  [[nodiscard]] RanksMessage compare_ranks(const Pairs& pairs) {
    const Part part = part_of(team_.member(), team_.size(), pairs.size());
    RanksMessage message;
    for (std::size_t k = 0; k < part.pairs && !message.trouble; ++k) {
      const std::size_t pair = part.first_pair + k;
      ValueJudge judge(options_, ValueShare(part.crew, part.in_crew));
      message.trouble = trouble_of(
          [&] {
            const bool whole = part.in_crew == 0;
            RankResult result = compare_rank(runs_.both(), pairs[pair], options_, judge, whole);
            if (!whole) {
              RankResult values;
              values.values = std::move(result.values);
              result = std::move(values);
            }
            message.parts.push_back({pair, whole, std::move(result)});
          },
          pair, [&] { return judge.met(); });
    }
    if (runs_.renamed() != nullptr) message.used_renames = runs_.renamed()->used();
    return message;
  }

  [[nodiscard]] AnswersMessage study(const std::vector<ValueQuestion>& questions) {
    AnswersMessage message;
    ValueShare share(team_.size(), team_.member());
    for (std::size_t k = 0; k < questions.size(); ++k) {
      if (!share.takes(packed_bytes(questions[k].geometries.reference)) || message.trouble)
        continue;
      message.trouble = trouble_of(
          [&] { message.answers.emplace_back(k, comparison::study(runs_.both(), questions[k])); },
          k, [] { return std::uint64_t{0}; });
    }
    return message;
  }

 private:
  Team& team_;
  PreparedRuns& runs_;
  const CompareOptions& options_;
};

/// Member 0 with the others at its command.
class Leader : public Workforce {
 public:
  Leader(Team& team, PreparedRuns& runs, const CompareOptions& options)
      : team_(team), runs_(runs), member_(team, runs, options) {}
  /// Lets the others go.
  ~Leader() override {
    if (!gathered_) gather_all(team_, {}, [](const std::string&) {});
    static_cast<void>(team_.broadcast(pack(QuestionsMessage{true, {}})));
  }

  void compare_ranks(const Pairs& pairs, const std::function<void(RankResult&&)>& take) override {
    std::optional<Trouble> trouble;
    std::optional<RanksMessage::Part> open;  // a rank that other members of its crew may add to
    const auto close = [&] {
      if (open && !trouble) take(std::move(open->result));
      open.reset();
    };
    gathered_ = true;
    gather_all(team_, pack(member_.compare_ranks(pairs)), [&](const std::string& handed_in) {
      auto message = unpack<RanksMessage>(handed_in);
      trouble = first_of(std::move(trouble), std::move(message.trouble));
      if (runs_.renamed() != nullptr) runs_.renamed()->add_used(message.used_renames);
      for (RanksMessage::Part& part : message.parts) {
        if (!part.whole) {
          if (open) open->result.values.add_share(part.result.values);
          continue;
        }
        close();
        open = std::move(part);
      }
    });
    close();
    if (trouble) trouble->raise();
  }

  [[nodiscard]] std::vector<ValueAnswer> study(
      const std::vector<ValueQuestion>& questions) override {
    if (questions.empty()) return {};
    static_cast<void>(team_.broadcast(pack(QuestionsMessage{false, questions})));
    std::vector<ValueAnswer> answers(questions.size());
    std::optional<Trouble> trouble;
    gather_all(team_, pack(member_.study(questions)), [&](const std::string& handed_in) {
      auto message = unpack<AnswersMessage>(handed_in);
      trouble = first_of(std::move(trouble), std::move(message.trouble));
      for (auto& [k, answer] : message.answers) answers.at(k) = std::move(answer);
    });
    if (trouble) trouble->raise();
    return answers;
  }

 private:
  Team& team_;
  PreparedRuns& runs_;
  Member member_;
  bool gathered_ = false;
};

/// Any member but the first: does its part until it is released.
void follow(Team& team, PreparedRuns& runs, const CompareOptions& options) {
  Member member(team, runs, options);
  team.gather(pack(member.compare_ranks(numbers_of(runs.pairs()))), {});
  while (true) {
    const auto message = unpack<QuestionsMessage>(team.broadcast({}));
    if (message.over) return;
    team.gather(pack(member.study(message.questions)), {});
  }
}

}  // namespace

std::optional<Report> compare_together(Team& team, const Run& reference, const Run& candidate,
                                       const CompareOptions& options) {
  std::optional<PreparedRuns> runs;
  if (!all_manage(team, [&] { runs.emplace(reference, candidate, options); })) return std::nullopt;
  if (team.member() != 0) {
    follow(team, *runs, options);
    return std::nullopt;
  }
  Leader leader(team, *runs, options);
  return compare_by(leader, *runs, options);
}

bool all_manage(Team& team, const std::function<void()>& task) {
  const std::optional<Trouble> own =
      trouble_of(task, team.member(), [] { return std::uint64_t{0}; });
  std::optional<Trouble> first;
  gather_all(team, pack(own), [&](const std::string& handed_in) {
    first = first_of(std::move(first), unpack<std::optional<Trouble>>(handed_in));
  });
  first = unpack<std::optional<Trouble>>(team.broadcast(pack(first)));
  if (first && team.member() == 0) first->raise();
  return !first;
}

bool all_say(Team& team, const std::string& words) {
  bool same = true;
  gather_all(team, words, [&](const std::string& said) { same = same && said == words; });
  return team.broadcast(same ? "same" : "other") == "same";
}

}  // namespace ulpscope
