#include "compare/align/samples_ahead.hpp"

#include <algorithm>
#include <vector>

#include "compare/model/hash.hpp"
#include "compare/model/structure.hpp"

namespace ulpscope::comparison {

void SamplesAhead::note_taken(const WorkerJob& job) {
  KeyHash names;
  for (const JobOp& op : job.ops) taken_.insert(names.add(name_key(op.outer())).value());
}

std::set<JobId> SamplesAhead::made_ahead(const WaitingJobs& jobs) const {
  struct Sample {
    JobId id;
    std::vector<std::uint64_t> contents;  ///< keys of the first 1, 2, 3, ... ops
    bool same = false;
  };
  Both<std::vector<Sample>> samples;
  Both<bool> others{};
  for (const auto& [id, job] : jobs.all()) {
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
      const WorkerJob& job = jobs.at(sample.id);
      const WaitingJobs::Thread& thread = *jobs.thread_of(side, job.ops.front().lane);
      // What both runs did after it in the same thread was not ahead of it.
      const bool is_last =
          thread.ops.empty() || thread.ops.rbegin()->second.last + 1 == thread.added;
      const bool feeds = thread.feeds_others;
      if (is_last && (sample.same || !both_differ) && (feeds || !on(others, the_other(side))))
        ahead.insert(sample.id);
    }
  return ahead;
}

}  // namespace ulpscope::comparison
