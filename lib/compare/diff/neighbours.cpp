#include "compare/diff/neighbours.hpp"

#include <fmt/format.h>

#include <utility>

namespace ulpscope::comparison {
namespace {

[[nodiscard]] Neighbour neighbour(const Event& event, Judged outcome) {
  Neighbour result;
  result.event = event.position;
  result.op = event.op;
  if (event.has_module) result.module = event.module.empty() ? event.root : event.module;
  result.equal = outcome == Judged::equal;
  if (outcome == Judged::propagated) result.note = "propagated";
  return result;
}

}  // namespace

void Neighbours::add_passed(const Scene& scene, std::vector<Neighbour>& neighbours) const {
  for (const Passed& before : passed_)
    neighbours.push_back(
        neighbour(scene.windows.reference->event(before.at.reference), before.outcome));
}

void Neighbours::pass(const Scene& scene, EventPair at, Judged outcome, std::size_t new_records) {
  const std::size_t context = state_.options.context;
  if (context == 0) return;
  auto& records = state_.book.records();
  const Event& event = scene.windows.reference->event(at.reference);
  for (Wanted& wanted : wanted_) {
    records[wanted.record].finding.neighbours.push_back(neighbour(event, outcome));
    --wanted.left;
  }
  std::erase_if(wanted_, [](const Wanted& wanted) { return wanted.left == 0; });
  for (std::size_t k = new_records; k < records.size(); ++k) {
    auto& neighbours = records[k].finding.neighbours;
    if (!neighbours.empty() || records[k].finding.step.value_or(kSetup) != scene.step) continue;
    add_passed(scene, neighbours);
    neighbours.push_back(neighbour(event, outcome));
    neighbours.back().finding = true;
    wanted_.push_back({k, context});
  }
  passed_.push_back({at, outcome});
  if (passed_.size() > context) passed_.pop_front();
}

void Neighbours::stand_alone(const Scene& scene, const Event& event, Side side) {
  auto& records = state_.book.records();
  if (records.empty() || state_.options.context == 0) return;
  auto& neighbours = records.back().finding.neighbours;
  add_passed(scene, neighbours);
  Neighbour self = neighbour(event, Judged::found);
  self.finding = true;
  self.note = fmt::format("only in {}", name(side));
  neighbours.push_back(std::move(self));
  wanted_.push_back({records.size() - 1, state_.options.context});
}

void Neighbours::end_step() {
  passed_.clear();
  wanted_.clear();
}

}  // namespace ulpscope::comparison
