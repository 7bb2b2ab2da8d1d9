#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "compare/experiment/op_call.hpp"
#include "compare/experiment/processes.hpp"
#include "replay/replay_process.hpp"
#include "ulpscope/dump_reader.hpp"

/// Replays every op of a dump as it was recorded.
///
///     prove_ops REPLAYER DUMP SHARE
///
/// Prints the ops that do not give their recorded bits, and fails if fewer than SHARE of the names
/// of ops do: those of which a call was replayed and every replayed call gave its bits. Calls that
/// return views, leave nothing of their own or give other bits every time do
/// not count.
namespace {

using namespace ulpscope;
using namespace ulpscope::comparison::experiment;

constexpr const char* kNotDeterministic = "it is not deterministic";
constexpr unsigned kRepeats = 5;

struct Count {
  std::uint64_t proved = 0;
  std::uint64_t wrong = 0;
  std::uint64_t unrecorded = 0;  ///< inputs that are not in the dump
  std::string example;           ///< of what is not proved

  [[nodiscard]] bool is_proved() const { return proved > 0 && wrong == 0; }
};

/// Why an op says nothing, whatever replays it.
bool is_aside(const OpCall& call) {
  return call.failure.starts_with("it left nothing") ||
         call.failure.starts_with("it returns a view");
}

class Proof {
 public:
  Proof(const Run& run, const std::string& program)
      : run_(run), processes_(factory_), program_(program) {}

  void prove(const RecordedPlace& place) {
    OpCall call = op_call(run_, place, {});
    // One process for all of them, though only some need the library for GPUs.
    if (!call.start.libraries.empty()) libraries_ = call.start.libraries;
    call.start.libraries = libraries_;
    if (is_aside(call)) {
      ++aside_[call.failure][full_name(call.event())];
      return;
    }
    const std::string failure = failure_of(call);
    if (failure == kNotDeterministic) {
      ++aside_[failure][full_name(call.event())];
      return;
    }
    Count& count = counts_[full_name(call.event())];
    if (failure.empty()) {
      ++count.proved;
      return;
    }
    ++(failure == "what it reads was not recorded" ? count.unrecorded : count.wrong);
    if (count.example.empty()) count.example = fmt::format("event {}: {}", place.position, failure);
  }

  /// The share of names without a wrong op.
  [[nodiscard]] double print() const {
    std::uint64_t proved = 0;
    std::uint64_t ops = 0;
    std::uint64_t right = 0;
    for (const auto& [name, count] : counts_) {
      ops += count.proved + count.wrong + count.unrecorded;
      right += count.proved;
      proved += count.is_proved() ? 1 : 0;
      if (count.example.empty()) continue;
      std::cout << fmt::format("{}: {} proved, {} wrong, {} not recorded; {}\n", name, count.proved,
                               count.wrong, count.unrecorded, count.example);
    }
    for (const auto& [why, names] : aside_) {
      std::cout << fmt::format("aside: {}:", why);
      for (const auto& [name, count] : names) std::cout << fmt::format(" {} {}", name, count);
      std::cout << '\n';
    }
    std::cout << fmt::format("{} of {} distinct ops, {} of {} calls\n", proved, counts_.size(),
                             right, ops);
    return counts_.empty() ? 0 : static_cast<double>(proved) / static_cast<double>(counts_.size());
  }

 private:
  [[nodiscard]] std::string failure_of(const OpCall& call) {
    if (!call.failure.empty()) return call.failure;
    const ReplayAnswer answer = processes_.replay(call.start, call.request);
    if (!answer.failure.empty()) return answer.failure;
    if (same_bits(answer.results, call.recorded)) return {};
    if (processes_.repeat(call.start, call.request, kRepeats).results.size() > 1)
      return kNotDeterministic;
    return "other bits: " + difference_words(call.recorded, answer.results);
  }

  const Run& run_;
  ReplayerFactory factory_ = [this](const ReplayStart& start) {
    return std::make_unique<replay::ReplayProcess>(program_, start);
  };
  Processes processes_;
  std::string program_;
  std::vector<std::string> libraries_;
  std::map<std::string, Count> counts_;
  std::map<std::string, std::map<std::string, std::uint64_t>> aside_;  ///< by why and name
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto run = open_dump(argv[2]);
  Proof proof(*run, argv[1]);
  for (const std::uint32_t rank : run->ranks())
    for (const Lane& lane : run->lanes(rank))
      for (std::size_t k = 0; k < run->block_count(rank, lane.id); ++k)
        for (const Event& event : run->block(rank, lane.id, k).events)
          if (event.kind == EventKind::op) proof.prove({rank, lane.id, event.position});
  return proof.print() >= std::atof(argv[3]) ? 0 : 1;
}
