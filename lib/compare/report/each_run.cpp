#include "compare/report/each_run.hpp"

#include <algorithm>

#include "compare/report/checks/epochs.hpp"
#include "compare/report/checks/recompute.hpp"
#include "compare/report/write_order.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool concerns_data(const Finding& finding) {
  if (finding.phase != Phase::setup && finding.phase != Phase::data &&
      finding.phase != Phase::forward)
    return false;
  return finding.kind == FindingKind::data || finding.kind == FindingKind::rng ||
         finding.kind == FindingKind::sequence || finding.kind == FindingKind::arguments;
}

[[nodiscard]] bool may_be_recomputed(const Finding& finding) {
  return finding.step && (finding.phase == Phase::backward || finding.kind == FindingKind::rng) &&
         (finding.kind == FindingKind::rng || finding.kind == FindingKind::sequence ||
          finding.kind == FindingKind::origin);
}

void add_epochs(Record& record, Side side, const Run& run, std::uint32_t rank, std::int64_t step) {
  BatchCollector collector;
  OrderCollector orders;
  for (const Lane& lane : run.lanes(rank))
    for (std::size_t i = 0; i < run.block_count(rank, lane.id); ++i) {
      const Block block = run.block(rank, lane.id, i);
      collector.see(lane, block);
      orders.see(lane, block);
    }
  const auto batches = collector.take();
  const Epochs epochs = epochs_of(run.environment(rank), orders.orders(), batches);
  if (epochs.source == Epochs::Source::unknown) return;
  on(record.evidence.epochs, side) = check_epochs(epochs, batches).text;
  const std::int64_t batch = std::max<std::int64_t>(step, 0);
  on(record.evidence.begins_epoch, side) =
      std::find(epochs.begins.begin(), epochs.begins.end(), batch) != epochs.begins.end();
}

void add_recomputed(Record& record, Side side, const Run& run, std::uint32_t rank,
                    std::int64_t step) {
  // A draw too many in backward shows in the next step's forward.
  const bool before = record.finding.phase != Phase::backward;
  for (const Recomputed& one : recomputed_in(run, rank, before ? step - 1 : step))
    on(record.evidence.recomputed, side).push_back(words(one));
}

}  // namespace

void add_what_each_run_shows(Record& record, const Both<const Run*>& runs,
                             std::int64_t step_offset) {
  record.evidence.write_order = other_write_order(runs, record.ranks);
  for (const Side side : kSides) {
    const Run& run = *on(runs, side);
    const std::uint32_t rank = on(record.ranks, side);
    const std::int64_t reference_step = record.finding.step.value_or(kSetup);
    const std::int64_t step = side == Side::candidate && reference_step != kSetup
                                  ? reference_step + step_offset
                                  : reference_step;
    if (record.evidence.missing_steps || concerns_data(record.finding))
      add_epochs(record, side, run, rank, step);
    if (may_be_recomputed(record.finding)) add_recomputed(record, side, run, rank, step);
  }
}

}  // namespace ulpscope::comparison
