// Prints every event of a dump as a line of tab-separated fields:
//   rank, lane, lane role, step (-1: setup), position, parent's position, kind, phase, op, root,
//   module
// A parent, root or module that an event has not is "-"; kinds are numbered as in run.hpp.
//
//     list_events DUMP

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "ulpscope/dump_reader.hpp"

namespace {

const char* role_name(ulpscope::LaneRole role) {
  switch (role) {
    case ulpscope::LaneRole::main:
      return "main";
    case ulpscope::LaneRole::autograd:
      return "autograd";
    case ulpscope::LaneRole::worker:
      return "worker";
    case ulpscope::LaneRole::thread:
      return "thread";
    case ulpscope::LaneRole::trainer:
      return "trainer";
  }
  return "?";
}

std::string parent_of(const ulpscope::Event& event) {
  return event.parent == ulpscope::kNone ? "-" : std::to_string(event.parent);
}

void print(std::uint32_t rank, const ulpscope::Lane& lane, std::int64_t step,
           const ulpscope::Event& event) {
  if (event.kind == ulpscope::EventKind::outcome) return;
  const std::string phase(ulpscope::name(event.phase));
  const std::string op(event.op);
  const std::string root(event.root.empty() ? "-" : event.root);
  const std::string module(event.has_module ? event.module : "-");
  std::printf("%u\t%u\t%s\t%lld\t%llu\t%s\t%d\t%s\t%s\t%s\t%s\n", rank, lane.id,
              role_name(lane.role), static_cast<long long>(step),
              static_cast<unsigned long long>(event.position), parent_of(event).c_str(),
              static_cast<int>(event.kind), phase.c_str(), op.c_str(), root.c_str(),
              module.c_str());
}

void print_all(const ulpscope::Run& run) {
  for (const std::uint32_t rank : run.ranks()) {
    for (const ulpscope::Lane& lane : run.lanes(rank)) {
      for (std::size_t i = 0; i < run.block_count(rank, lane.id); ++i) {
        const ulpscope::Block block = run.block(rank, lane.id, i);
        for (const ulpscope::Event& event : block.events) print(rank, lane, block.step, event);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: list_events DUMP");
    print_all(*ulpscope::open_dump(argv[1]));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "list_events: %s\n", error.what());
    return 2;
  }
}
