#include "dump/kept_steps.hpp"

#include <algorithm>

namespace ulpscope::dump {

void KeptSteps::count(std::int64_t step, const Counts& block) {
  if (steps_ == 0) return;
  Counts& counts = step < first_step_ ? let_go_ : counted_[step];
  counts.events += block.events;
  counts.values += block.values;
}

std::vector<std::uint32_t> KeptSteps::publish(std::uint32_t segment, std::int64_t last_step,
                                              std::int64_t newest_step) {
  std::vector<std::uint32_t> done_with;
  if (steps_ == 0) return done_with;
  segments_.push_back({segment, last_step});
  const std::int64_t first = newest_step - static_cast<std::int64_t>(steps_) + 1;
  if (first > 0) first_step_ = std::max(first_step_, first);
  while (segments_.size() > 1 && segments_.front().last_step < first_step_) {
    done_with.push_back(segments_.front().number);
    segments_.pop_front();
    oldest_segment_ = segments_.front().number;
  }
  while (!counted_.empty() && counted_.begin()->first < first_step_) {
    let_go_.events += counted_.begin()->second.events;
    let_go_.values += counted_.begin()->second.values;
    counted_.erase(counted_.begin());
  }
  return done_with;
}

std::string not_kept(std::int64_t first) {
  return "steps before " + std::to_string(first) + " were not kept (--keep-last)";
}

std::string not_kept(std::uint32_t rank, std::int64_t first) {
  return "rank " + std::to_string(rank) + ": " + not_kept(first);
}

}  // namespace ulpscope::dump
