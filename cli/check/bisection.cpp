#include "cli/check/bisection.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "cli/check/dump_folder.hpp"
#include "cli/check/interruption.hpp"
#include "cli/inputs/open_run.hpp"
#include "ulpscope/compare.hpp"

namespace ulpscope::cli {
namespace {

/// By what they compute: a difference may make them end otherwise.
bool are_equal(const Run& a, const Run& b) {
  CompareOptions options;
  options.any_exit_code = true;
  return compare(a, b, options).verdict == Verdict::identical;
}

/// Thrown where no further run may be made.
struct Stopped {};

class Bisector {
 public:
  Bisector(const std::string& reference, const std::string& candidate,
           const BisectionOptions& options, const RunMaker::Watch& watch)
      : options_(options),
        reference_(open_run(reference)),
        candidate_(open_run(candidate)),
        starts_(starts_of(*reference_, *candidate_)),
        maker_(options.run, watch),
        folder_(options.directory, "bisect") {}

  Bisection run() {
    result_.switches = starts_.switches;
    result_.others = starts_.others;
    try {
      result_.result = search();
    } catch (const Stopped&) {
      result_.result = BisectionResult::stopped;
    }
    result_.command = start_with(starts_, result_.smallest).command;
    return std::move(result_);
  }

 private:
  BisectionResult search() {
    if (are_equal(*reference_, *candidate_)) return BisectionResult::equal;
    const std::size_t count = starts_.switches.size();
    if (count == 0) return BisectionResult::nothing_differs;
    if (differs({})) return BisectionResult::not_reproduced;
    IndexSet all(count);
    std::iota(all.begin(), all.end(), std::size_t{0});
    if (!differs(all)) return BisectionResult::no_difference;
    result_.smallest =
        smallest_failing_set(count, [this](const IndexSet& set) { return differs(set); });
    if (gives_candidate(all) && !gives_candidate(result_.smallest))
      result_.complete =
          smallest_failing_set(count, [this](const IndexSet& set) { return gives_candidate(set); });
    return BisectionResult::found;
  }

  /// Whether a run with these settings is not equal to the reference.
  bool differs(const IndexSet& switched) {
    const Trial trial = tried(switched);
    return trial.as_reference < trial.runs;
  }

  /// Whether every run with these settings is equal to the candidate.
  bool gives_candidate(const IndexSet& switched) {
    const Trial trial = tried(switched);
    return trial.as_candidate == trial.runs;
  }

  /// A set is tried once.
  Trial tried(const IndexSet& switched) {
    const auto known = std::find_if(result_.trials.begin(), result_.trials.end(),
                                    [&](const Trial& trial) { return trial.switched == switched; });
    if (known != result_.trials.end()) return *known;
    Trial trial{switched};
    for (std::size_t i = 0; i < options_.repeats; ++i) try_once(trial);
    return result_.trials.emplace_back(trial);
  }

  void try_once(Trial& trial) {
    if (interrupted() != 0 || runs_ >= options_.max_runs) throw Stopped();
    const std::size_t number = ++runs_;
    const MadeRun made =
        maker_.recorded(start_with(starts_, trial.switched), folder_.dump_of(number), {});
    if (interrupted() == 0) {
      const auto run = open_run(made.dump.string());
      ++trial.runs;
      if (are_equal(*reference_, *run))
        ++trial.as_reference;
      else if (are_equal(*candidate_, *run))
        ++trial.as_candidate;
    }
    folder_.remove(number);
    if (interrupted() != 0) throw Stopped();
  }

  const BisectionOptions& options_;
  std::unique_ptr<Run> reference_;
  std::unique_ptr<Run> candidate_;
  TwoStarts starts_;
  RunMaker maker_;
  DumpFolder folder_;
  Bisection result_;
  std::size_t runs_ = 0;
};

}  // namespace

std::string_view name(BisectionResult result) noexcept {
  switch (result) {
    case BisectionResult::found:
      return "found";
    case BisectionResult::equal:
      return "equal";
    case BisectionResult::nothing_differs:
      return "nothing_differs";
    case BisectionResult::not_reproduced:
      return "not_reproduced";
    case BisectionResult::no_difference:
      return "no_difference";
    case BisectionResult::stopped:
      return "stopped";
  }
  return "stopped";
}

Bisection bisect(const std::string& reference, const std::string& candidate,
                 const BisectionOptions& options, const RunMaker::Watch& watch) {
  const Interruption interruption;
  return Bisector(reference, candidate, options, watch).run();
}

}  // namespace ulpscope::cli
