#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "core/argument_writer.hpp"
#include "tests/support/dump_builder.hpp"
#include "tests/support/layer_dump.hpp"

/// One training step of one layer, recorded with all bytes: the run that seeds are generated from.
namespace ulpscope::test {

inline std::vector<std::byte> addmm_arguments() {
  std::vector<std::byte> buffer(256);
  ArgumentWriter out(buffer);
  out.number(3, 1.0);
  out.integer(4, 2);
  out.string(5, "same");
  return {out.bytes().begin(), out.bytes().end()};
}

/// Sends that step; `step` changes its numbers, `differs` one of them by one ULP.
inline void send_small_step(DumpBuilder& dump, LaneBuilder& lane, bool differs = false,
                            unsigned step = 0) {
  const auto number = static_cast<float>(step);
  const std::vector<float> weight{0.5F, -0.25F, 1.0F, 2.0F + number};
  const std::vector<float> batch{1, 2 + number};
  std::vector<float> result{1.5F, 0.75F + number};
  if (differs) result[1] = std::nextafter(result[1], 100.0F);
  lane.messages.environment(dump.tick(), "threads.intra_op", "2");
  if (step == 0) {
    lane.messages.notice(false, "A part was left out.");
    auto& init = lane.op("aten::uniform_").no_grad().rng(42, 1, 2);
    add_tensor(lane, init, Role::mutated, 0, floats(weight), "weight", slot_flag::parameter);
  }
  auto& module = lane.begin(EventKind::module, "Net").root("Net").module("").module_type("Net");
  module.object(1);
  add_tensor(lane, module, Role::input, 0, floats(batch));
  add_tensor(lane, module, Role::output, 0, floats(result));
  auto& op = lane.op("aten::addmm", "out").root("Net").module("fc");
  op.arguments(addmm_arguments());
  add_tensor(lane, op, Role::input, 0, floats(batch));
  add_tensor(lane, op, Role::input, 1, floats(weight), "weight", slot_flag::parameter);
  add_tensor(lane, op, Role::output, 0, floats(result));
  lane.end();
  auto& half = lane.op("aten::to").root("Net");
  add_tensor(lane, half, Role::output, 0,
             tensor<std::uint16_t>(Dtype::bfloat16, {2, 1}, {0x3f80, 0x4000}));
  auto& gradient = lane.add(EventKind::gradient, "AccumulateGrad").backward();
  gradient.input({.digest = 11 + step, .flags = slot_flag::gradient, .name = "weight.grad"});
  auto& update = lane.add(EventKind::optimizer, "SGD::step").no_grad().object(1);
  update.mutated({.digest = 12 + step, .flags = slot_flag::parameter, .name = "weight"});
  lane.flush();
}

/// The messages of that run.
inline std::vector<std::byte> small_run_messages() {
  const TempDir dir;
  DumpBuilder dump(dir.path(), {.level = "full"});
  auto& lane = dump.lane();
  send_small_step(dump, lane);
  return lane.messages.take();
}

/// That run as a dump.
inline void write_small_run(const std::filesystem::path& directory, bool differs = false) {
  DumpBuilder dump(directory, {.run = {1, differs ? 3U : 2U}, .level = "full"});
  send_small_step(dump, dump.lane(), differs);
  dump.finish();
}

}  // namespace ulpscope::test
