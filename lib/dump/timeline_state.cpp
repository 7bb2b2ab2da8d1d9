#include "dump/bytes.hpp"
#include "dump/timeline.hpp"

namespace ulpscope::dump {

std::vector<std::byte> Timeline::save() const {
  ByteWriter out;
  out.put(leader_.value_or(0));
  out.put(leader_.has_value());
  out.put(leader_is_main_);
  out.put(settled_step_);
  out.put(settled_epoch_);
  out.put(any_settled_);
  out.put(settled_.stretch);
  for (const bool flag :
       {settled_.in_setup, settled_.explicit_steps, settled_.step_begins, settled_.optimizer_events,
        settled_.without_optimizer, settled_.without_grad, settled_.backward_seen,
        settled_.optimizer_has_forward, settled_.steps_again, settled_.left_first_module,
        settled_.op_is_quiet, settled_.rootless}) {
    out.put(flag);
  }
  out.put(settled_.op_phase);
  out.put(settled_.step_epoch);
  out.put(settled_.step_position);
  for (const Range& range :
       {settled_.optimizer, settled_.zero_grad, settled_.op, settled_.root_module}) {
    out.put(range.depth);
    out.put(range.open);
  }
  out.put(settled_.optimizer_object);
  out.put(settled_.forward_root);
  out.put(settled_.forward_module);
  for (const auto* items : {&settled_.entered, &settled_.stepped, &settled_.known}) {
    out.put(items->size());
    for (const auto item : *items) out.put(item);
  }
  out.put(lanes_.size());
  for (const auto& [id, lane] : lanes_) {
    out.put(id);
    out.put(lane.last_step);
    out.put(lane.closed);
  }
  out.put(boundaries_.size());
  for (const auto& boundary : boundaries_) {
    out.put(boundary.epoch);
    out.put(boundary.step);
  }
  out.put(trained_by_.size());
  for (const auto& [module, optimizer] : trained_by_) {
    out.put(module);
    out.put(optimizer);
  }
  for (const auto* storages : {&leaves_, &made_by_graph_}) {
    out.put(storages->size());
    for (const std::uint64_t storage : *storages) out.put(storage);
  }
  return {out.bytes().begin(), out.bytes().end()};
}

bool Timeline::restore(std::span<const std::byte> saved) {
  ByteReader in(saved);
  const auto leader = in.get<std::uint32_t>();
  if (in.get<bool>()) leader_ = leader;
  leader_is_main_ = in.get<bool>();
  settled_step_ = in.get_step();
  settled_epoch_ = in.get<std::uint64_t>();
  any_settled_ = in.get<bool>();
  settled_.stretch = in.get_up_to(Stretch::after_optimizer);
  for (bool* flag :
       {&settled_.in_setup, &settled_.explicit_steps, &settled_.step_begins,
        &settled_.optimizer_events, &settled_.without_optimizer, &settled_.without_grad,
        &settled_.backward_seen, &settled_.optimizer_has_forward, &settled_.steps_again,
        &settled_.left_first_module, &settled_.op_is_quiet, &settled_.rootless}) {
    *flag = in.get<bool>();
  }
  settled_.op_phase = in.get_up_to(Phase::eval);
  settled_.step_epoch = in.get<std::uint64_t>();
  settled_.step_position = in.get<std::uint64_t>();
  for (Range* range :
       {&settled_.optimizer, &settled_.zero_grad, &settled_.op, &settled_.root_module}) {
    range->depth = in.get<std::uint16_t>();
    range->open = in.get<bool>();
  }
  settled_.optimizer_object = in.get<std::uint64_t>();
  settled_.forward_root = in.get<std::uint32_t>();
  settled_.forward_module = in.get<std::uint32_t>();
  for (auto* items : {&settled_.entered, &settled_.stepped, &settled_.known}) {
    for (auto count = in.get<std::size_t>(); count > 0 && in.ok(); --count) {
      items->push_back(in.get<std::uint64_t>());
    }
  }
  for (auto count = in.get<std::size_t>(); count > 0 && in.ok(); --count) {
    auto& lane = lanes_[in.get<std::uint32_t>()];
    lane.last_step = in.get_step();
    lane.closed = in.get<bool>();
  }
  for (auto count = in.get<std::size_t>(); count > 0 && in.ok(); --count) {
    const auto epoch = in.get<std::uint64_t>();
    boundaries_.push_back({epoch, in.get_step()});
  }
  for (auto count = in.get<std::size_t>(); count > 0 && in.ok(); --count) {
    const auto module = in.get<std::uint64_t>();
    trained_by_[module] = in.get<std::uint64_t>();
  }
  for (auto* storages : {&leaves_, &made_by_graph_})
    for (auto count = in.get<std::size_t>(); count > 0 && in.ok(); --count)
      storages->insert(in.get<std::uint64_t>());
  reading_ = settled_;
  return in.ok();
}

}  // namespace ulpscope::dump
