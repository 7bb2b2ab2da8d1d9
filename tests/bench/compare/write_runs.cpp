#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "tests/support/dump_builder.hpp"
#include "tests/support/synthetic_plan.hpp"

// write_runs FOLDER SCENARIO STEPS BATCHES DIFFERENCES writes FOLDER/a and FOLDER/b, two synthetic
// trainings, and prints how many differences of structure there are.

namespace {

using namespace ulpscope;

/// Sends the events of a program to a recording: one lane, each event when it ends.
class Sender {
 public:
  explicit Sender(const std::filesystem::path& directory) : dump_(directory), lane_(dump_.lane()) {}

  /// The program says where its steps begin: here, and nowhere else unless it says so again.
  void begin_only_step() {
    ++shift_;
    ring::EventRow row{};
    row.kind = static_cast<std::uint8_t>(EventKind::step);
    row.op = lane_.messages.op("ulpscope::step");
    row.position = next_++;
    row.parent = row.forward = ring::kNone;
    row.epoch = dump_.tick();
    row.flags = event_flag::grad_mode;
    lane_.messages.event(row, {}, {});
  }

  void send(const Event& event) {
    while (!open_.empty() && open_.back().position != event.parent) close();
    Open open{event.position, row(event), {}};
    for (const Slot& slot : event.slots) open.slots.push_back(row(slot));
    open_.push_back(std::move(open));
  }

  void flush() {
    while (!open_.empty()) close();
    lane_.send();
  }

  void finish() { dump_.finish(); }

 private:
  struct Open {
    std::uint64_t position;
    ring::EventRow row;
    std::vector<ring::SlotRow> slots;
  };

  void close() {
    lane_.messages.event(open_.back().row, open_.back().slots, {});
    open_.pop_back();
    constexpr int kEvents = 256;
    if (++waiting_ % kEvents == 0) lane_.send();
  }

  [[nodiscard]] ring::EventRow row(const Event& event) {
    ring::EventRow row{};
    row.kind = static_cast<std::uint8_t>(event.kind);
    row.op = lane_.messages.op(event.op);
    row.position = next_++;
    row.parent = event.parent == kNone ? ring::kNone : event.parent + shift_;
    row.forward = event.forward == kNone ? ring::kNone : event.forward + shift_;
    row.depth = event.depth;
    row.epoch = dump_.tick();
    row.flags = event.flags;
    row.threads = event.threads;
    row.object = event.kind == EventKind::optimizer ? 1 : 0;
    if (event.has_module) {
      row.root = lane_.messages.string(event.root);
      row.module = lane_.messages.string(event.module);
      row.module_type = lane_.messages.string(event.module_type);
    }
    return row;
  }

  [[nodiscard]] ring::SlotRow row(const Slot& slot) {
    ring::SlotRow row{};
    row.role = static_cast<std::uint8_t>(slot.role);
    row.index = slot.index;
    row.flags = slot.flags;
    row.digest[0] = slot.digest.high;
    row.digest[1] = slot.digest.low;
    row.value = slot.digest.low;
    row.storage = slot.storage;
    row.writes = slot.writes;
    row.writer = slot.writer == kNone ? ring::kNone : slot.writer + shift_;
    row.geometry = lane_.messages.geometry(slot.geometry->dtype, slot.geometry->sizes);
    row.name = slot.name.empty() ? 0 : lane_.messages.string(slot.name);
    return row;
  }

  test::DumpBuilder dump_;
  test::LaneBuilder& lane_;
  std::vector<Open> open_;
  std::uint64_t next_ = 0;
  std::uint64_t shift_ = 0;  ///< by which positions are later than the program's own
  int waiting_ = 0;
};

std::uint64_t write(const std::filesystem::path& directory, const test::SyntheticShape& shape,
                    const test::SyntheticDifferences& differences) {
  test::SyntheticTraining program(shape, differences);
  Sender sender(directory);
  std::uint64_t events = 0;
  if (shape.steps == 1) sender.begin_only_step();
  for (std::int64_t step = 0; step < program.steps(); ++step) {
    program.next_step([&](const Event& event) {
      sender.send(event);
      ++events;
    });
    sender.flush();
  }
  sender.finish();
  return events;
}

test::SyntheticPlan plan(std::string_view scenario, const test::SyntheticShape& shape,
                         std::size_t differences) {
  const std::uint32_t first_linear = 2;
  test::SyntheticPlan plan;
  if (scenario == "scattered" || scenario == "scattered-values") {
    plan = test::scattered(shape, differences);
    if (scenario == "scattered-values") plan.differences.candidate.origin = {0, first_linear};
  } else if (scenario == "shifted") {
    plan.differences.candidate.extra_step = shape.steps / 2;
  } else if (scenario == "evaluation") {  // of as many batches as there are differences
    plan.differences.candidate.evaluation = {shape.steps / 2, static_cast<int>(differences)};
  } else if (scenario == "every-other") {
    const std::size_t places = test::SyntheticTraining::places(shape).size();
    for (std::int64_t step = 0; step < shape.steps; ++step)
      for (std::uint32_t place = 0; place < places; place += 2)
        plan.differences.candidate.edits[{step, place}] = {test::Edit::Kind::replaced,
                                                           "aten::other"};
  } else if (scenario == "different") {
    plan.differences.candidate.other_program = true;
  } else if (scenario == "values") {
    plan.differences.candidate.origin = {0, first_linear};
  } else if (scenario != "identical") {
    std::fprintf(stderr, "write_runs knows no scenario %s\n", std::string(scenario).c_str());
    std::exit(2);
  }
  return plan;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fputs("usage: write_runs FOLDER SCENARIO STEPS BATCHES DIFFERENCES\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  test::SyntheticShape shape;
  shape.steps = std::atoll(argv[3]);
  shape.batches = std::atoi(argv[4]);
  const auto of = plan(argv[2], shape, static_cast<std::size_t>(std::atoll(argv[5])));
  const std::uint64_t events = write(folder / "a", shape, of.differences.reference);
  write(folder / "b", shape, of.differences.candidate);
  std::printf(
      "{\"events\": %llu, \"only_reference\": %llu, \"only_candidate\": %llu, \"findings\": %zu}\n",
      static_cast<unsigned long long>(events), static_cast<unsigned long long>(of.extra.reference),
      static_cast<unsigned long long>(of.extra.candidate), of.findings.size());
  return 0;
}
