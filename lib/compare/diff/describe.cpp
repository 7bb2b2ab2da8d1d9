#include "compare/diff/describe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compare/model/kernels.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::size_t kTensorsListed = 64;

[[nodiscard]] std::string device_of(const Event& event) {
  for (const Slot& slot : event.slots) {
    if (slot.geometry == nullptr) continue;
    const std::string type = slot.geometry->device_type == 0   ? "cpu"
                             : slot.geometry->device_type == 1 ? "cuda"
                                                               : "device";
    return slot.geometry->device_index < 0
               ? type
               : fmt::format("{}:{}", type, slot.geometry->device_index);
  }
  return {};
}

}  // namespace

Finding describe(FindingKind kind, const Scene& scene, EventPair at) {
  const Side side = at.reference != kNoIndex ? Side::reference : Side::candidate;
  const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
  const Window& window = *on(scene.windows, side);
  const Event& event = window.event(index);

  Finding finding;
  finding.kind = kind;
  finding.rank = on(scene.ranks, side);
  finding.lane = lane_words(*on(scene.lanes, side), event);
  finding.step = reported_step(scene.step);
  finding.phase = event.phase;
  finding.op = event.op;
  finding.overload = event.overload;
  finding.parents = callers(window, index);
  finding.device = device_of(event);
  const ModuleName module = module_of(scene, side, index);
  finding.root = module.root;
  finding.between = module.between;
  if (module.known) {
    finding.module = module.path;
    finding.module_type = module.type;
  } else if (const auto between = neighbours_by_module(window, index);
             !module.between && (!between.reference.empty() || !between.candidate.empty())) {
    finding.between = between;
  }
  if (const HeldEvent forward = forward_of(scene, side, index); forward.event != nullptr)
    finding.forward_op = forward.event->op;
  ProgramLine line = program_line(scene, side, index);
  finding.where = std::move(line.place);
  finding.source = std::move(line.source);
  finding.file = std::move(line.file);
  for (const Side one : kSides) {
    const std::uint32_t own = one == Side::reference ? at.reference : at.candidate;
    if (own == kNoIndex) continue;
    const std::uint64_t position = on(scene.windows, one)->event(own).position;
    on(finding.event, one) = position;
    on(finding.children, one) = inner_names(*on(scene.windows, one), own);
    on(finding.kernels, one) = kernels_of(*on(scene.runs, one), on(scene.ranks, one),
                                          {on(scene.lanes, one)->id, position});
  }
  return finding;
}

ReportedTensor reported(const SlotPair& pair) {
  ReportedTensor tensor;
  tensor.report.role = pair.role();
  tensor.report.index = pair.any().index;
  tensor.report.element = pair.any().element;
  tensor.report.name = tensor_name(*pair.owner, pair.any());
  tensor.report.equal = !is_difference(pair.match);
  tensor.evidence.compared = was_compared(pair.match);
  for (const Side side : kSides) {
    const Slot* slot = side == Side::reference ? pair.reference : pair.candidate;
    if (slot == nullptr) continue;
    on(tensor.evidence.digest, side) = slot->digest;
    on(tensor.evidence.flags, side) = slot->flags;
    on(tensor.evidence.alignment, side) = slot->alignment;
    if (slot->name.empty()) on(tensor.evidence.storage, side) = slot->storage;
    if (slot->geometry == nullptr) continue;
    on(tensor.evidence.geometry, side) = *slot->geometry;
    on(tensor.report.shape, side) = slot->geometry->sizes;
    if (tensor.report.dtype == Dtype::undefined) tensor.report.dtype = slot->geometry->dtype;
  }
  return tensor;
}

void add_tensors(Record& record, const std::vector<SlotPair>& slots) {
  const auto add = [&](const SlotPair& pair) {
    ReportedTensor tensor = reported(pair);
    record.finding.tensors.push_back(std::move(tensor.report));
    record.evidence.tensors.push_back(std::move(tensor.evidence));
  };
  const auto listed = [](const SlotPair& pair) {
    return is_difference(pair.match) || was_compared(pair.match);
  };
  const auto count = static_cast<std::size_t>(std::count_if(slots.begin(), slots.end(), listed));
  const bool only_differing = count > kTensorsListed;
  std::size_t left_out = 0;
  for (const SlotPair& pair : slots) {
    if (!listed(pair)) continue;
    if (record.finding.tensors.size() < kTensorsListed &&
        (!only_differing || is_difference(pair.match)))
      add(pair);
    else
      ++left_out;
  }
  if (left_out > 0)
    record.finding.notes.push_back(fmt::format("{} more tensors are not listed", left_out));
}

void add_budgets(Record& record, const budget::Judged& judged) {
  auto& tensors = record.finding.tensors;
  for (const budget::Judged::Result& result : judged.results)
    for (std::size_t k = 0; k < tensors.size(); ++k)
      if (tensors[k].role == result.role && tensors[k].index == result.index &&
          tensors[k].element == result.element)
        record.evidence.tensors[k].budget = result.budget;
}

}  // namespace ulpscope::comparison
