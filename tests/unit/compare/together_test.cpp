#include "compare/together/together.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <sstream>
#include <thread>

#include "cli/render/json.hpp"
#include "tests/unit/compare/report_of.hpp"
#include "ulpscope/error.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

/// What the members of a team of threads say to each other.
class Wires {
 public:
  void put(std::uint32_t to, std::uint32_t from, std::string words) {
    const std::lock_guard lock(mutex_);
    waiting_[{to, from}].push_back(std::move(words));
    changed_.notify_all();
  }
  std::string take(std::uint32_t at, std::uint32_t from) {
    std::unique_lock lock(mutex_);
    auto& words = waiting_[{at, from}];
    changed_.wait(lock, [&words] { return !words.empty(); });
    std::string first = std::move(words.front());
    words.pop_front();
    return first;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<std::string>> waiting_;
};

class ThreadTeam : public Team {
 public:
  ThreadTeam(Wires& wires, std::uint32_t size, std::uint32_t member)
      : wires_(wires), size_(size), member_(member) {}

  [[nodiscard]] std::uint32_t size() const noexcept override { return size_; }
  [[nodiscard]] std::uint32_t member() const noexcept override { return member_; }
  void gather(const std::string& own,
              const std::function<void(std::uint32_t, const std::string&)>& take) override {
    if (member_ != 0) return wires_.put(0, member_, own);
    take(0, own);
    for (std::uint32_t from = 1; from < size_; ++from) take(from, wires_.take(0, from));
  }
  [[nodiscard]] std::string broadcast(const std::string& from_first) override {
    if (member_ != 0) return wires_.take(member_, 0);
    for (std::uint32_t to = 1; to < size_; ++to) wires_.put(to, 0, from_first);
    return from_first;
  }
  void end_all() noexcept override { std::abort(); }

 private:
  Wires& wires_;
  std::uint32_t size_;
  std::uint32_t member_;
};

/// A run of several ranks, each of which a RunBuilder made.
class RankedRun : public Run {
 public:
  explicit RankedRun(std::vector<std::unique_ptr<Run>> ranks) : ranks_(std::move(ranks)) {
    info_ = ranks_.front()->info();
    info_.ranks = static_cast<std::uint32_t>(ranks_.size());
  }
  [[nodiscard]] const RunInfo& info() const override { return info_; }
  [[nodiscard]] std::vector<std::uint32_t> ranks() const override {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t rank = 0; rank < info_.ranks; ++rank) numbers.push_back(rank);
    return numbers;
  }
  [[nodiscard]] std::vector<Lane> lanes(std::uint32_t rank) const override {
    return ranks_[rank]->lanes(rank);
  }
  [[nodiscard]] std::vector<EnvironmentEntry> environment(std::uint32_t rank) const override {
    return ranks_[rank]->environment(rank);
  }
  [[nodiscard]] std::size_t block_count(std::uint32_t rank, std::uint32_t lane) const override {
    return ranks_[rank]->block_count(rank, lane);
  }
  [[nodiscard]] Block block(std::uint32_t rank, std::uint32_t lane,
                            std::size_t index) const override {
    return ranks_[rank]->block(rank, lane, index);
  }
  [[nodiscard]] std::optional<std::vector<std::byte>> content(std::uint32_t rank,
                                                              const Digest& digest) const override {
    if (rank == damaged) throw Error(ErrorCode::corrupt, "Rank 2 is damaged.");
    return ranks_[rank]->content(rank, digest);
  }

  std::uint32_t damaged = ~std::uint32_t{0};

 private:
  std::vector<std::unique_ptr<Run>> ranks_;
  RunInfo info_;
};

constexpr double kUlp = 2.384185791015625e-07;  // of float32 at 2

/// Three steps of ops; in the candidate every second rank has other values from one of them on.
std::unique_ptr<RankedRun> make_run(std::uint32_t ranks, bool changed) {
  std::vector<std::unique_ptr<Run>> runs;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    RunBuilder run;
    run.rank(rank);
    run.keep_content();
    for (std::int64_t step = 0; step < 3; ++step) {
      run.step(step);
      auto x = run.op("aten::randn").out(Values({1.0 + rank, 2, 3}));
      for (int op = 0; op < 5; ++op) {
        const bool other = changed && rank % 2 == 0 && step >= rank % 3 && op > 1;
        const std::string name = "aten::op" + std::to_string(op);
        x = run.op(name).in(x).out(Values({1.0 + op, 2 + (other ? op * kUlp : 0)}));
      }
    }
    runs.push_back(run.build());
  }
  return std::make_unique<RankedRun>(std::move(runs));
}

std::string json_of(const Report& report) {
  std::ostringstream text;
  cli::render_json(report, text);
  return text.str();
}

/// What `members` threads answer together.
std::string together(std::uint32_t members, std::uint32_t ranks, const CompareOptions& options,
                     std::uint32_t damaged) {
  Wires wires;
  std::string answer;
  const auto work = [&](std::uint32_t member) {
    ThreadTeam team(wires, members, member);
    const auto reference = make_run(ranks, false);
    const auto candidate = make_run(ranks, true);
    candidate->damaged = damaged;
    try {
      const auto report = compare_together(team, *reference, *candidate, options);
      CHECK(report.has_value() == (member == 0));
      if (report) answer = json_of(*report);
    } catch (const Error& error) {
      answer = error.what();
    }
  };
  std::vector<std::thread> others;
  for (std::uint32_t member = 1; member < members; ++member) others.emplace_back(work, member);
  work(0);
  for (std::thread& other : others) other.join();
  return answer;
}

constexpr std::uint32_t kSound = ~std::uint32_t{0};

void check_same(const CompareOptions& options) {
  for (const std::uint32_t ranks : {1U, 3U, 5U}) {
    const std::string alone =
        json_of(compare(*make_run(ranks, false), *make_run(ranks, true), options));
    for (std::uint32_t members = 1; members <= 7; ++members) {
      CAPTURE(ranks);
      CAPTURE(members);
      CHECK(together(members, ranks, options, kSound) == alone);
    }
  }
}

}  // namespace

TEST_SUITE("together") {
  TEST_CASE("any number of members gives the report of one process") { check_same({}); }

  TEST_CASE("a tolerance is judged once for every value, whoever looks at it") {
    CompareOptions options;
    options.limits.max_ulp = 2;
    options.rules.push_back({});
    options.rules.back().op = "aten::op3";
    options.rules.back().limits.max_ulp = 3;
    check_same(options);
  }

  TEST_CASE("trouble of one member is told by the first, and ends all") {
    for (std::uint32_t members = 1; members <= 6; ++members)
      CHECK(together(members, 5, {}, 2) == "Rank 2 is damaged.");
  }

  TEST_CASE("members that say different things know it") {
    Wires wires;
    std::vector<std::thread> members;
    std::array<bool, 3> same{};
    for (std::uint32_t member = 0; member < 3; ++member)
      members.emplace_back([&, member] {
        ThreadTeam team(wires, 3, member);
        same[member] = all_say(team, member == 2 ? "other" : "words");
      });
    for (std::thread& member : members) member.join();
    CHECK(same == std::array{false, false, false});
  }
}
