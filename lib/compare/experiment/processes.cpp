#include "compare/experiment/processes.hpp"

#include <algorithm>
#include <utility>

#include "ulpscope/error.hpp"

namespace ulpscope::comparison::experiment {

unsigned Repeats::times_of(const Results& wanted) const {
  for (std::size_t k = 0; k < results.size(); ++k)
    if (same_bits(results[k], wanted)) return times[k];
  return 0;
}

ReplayAnswer Processes::replay(const ReplayStart& start, const ReplayRequest& request) {
  if (replayer_ == nullptr || !(start == start_)) {
    replayer_.reset();
    replayer_ = factory_(start);
    start_ = start;
  }
  if (replayer_ == nullptr)
    throw Error(ErrorCode::usage, "no program that replays ops is installed",
                "it is ulpscope-replay-VERSION, built with Ulpscope where LibTorch is found");
  ReplayAnswer answer = replayer_->replay(request);
  if (answer.failure.empty() && answer.results.size() != request.wanted.size())
    answer.failure = "the replayer returned different results than were requested";
  return answer;
}

Repeats Processes::repeat(const ReplayStart& start, const ReplayRequest& request, unsigned times) {
  Repeats repeats;
  for (unsigned k = 0; k < times; ++k) {
    ReplayAnswer answer = replay(start, request);
    repeats.capability = answer.cpu_capability;
    repeats.torch_version = answer.torch_version;
    repeats.failure = answer.failure;
    if (!repeats.failure.empty()) return repeats;
    const auto known =
        std::find_if(repeats.results.begin(), repeats.results.end(),
                     [&](const Results& results) { return same_bits(results, answer.results); });
    if (known != repeats.results.end()) {
      ++repeats.times[static_cast<std::size_t>(known - repeats.results.begin())];
      continue;
    }
    repeats.results.push_back(std::move(answer.results));
    repeats.times.push_back(1);
  }
  return repeats;
}

}  // namespace ulpscope::comparison::experiment
