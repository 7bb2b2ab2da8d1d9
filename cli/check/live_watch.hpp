#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "cli/check/inquiry.hpp"
#include "cli/check/lockstep.hpp"
#include "ulpscope/report.hpp"
#include "writer/written.hpp"

namespace ulpscope::cli {

/// In the process that records one of two programs that run side by side: the one that is ahead
/// waits, and the candidate's values are looked for among those of the reference once that has got
/// as far.
class LiveWatch {
 public:
  /// @param options hold is not null
  LiveWatch(Lockstep& lockstep, bool is_reference, Inquiry::Options options);

  void see(const writer::Written& written);
  void report(const Trouble& trouble) const { inquiry_.report(trouble); }
  /// How long nothing need be done.
  std::chrono::milliseconds after_round(writer::Session& session);

 private:
  struct Waiting {
    std::uint64_t position;
    std::uint64_t steps;  ///< that had begun for certain
    std::uint64_t digest;
    std::uint64_t logical;  ///< 0: none
  };

  /// Of one process.
  struct Process {
    RankIdentity identity;
    std::deque<Waiting> waiting;
  };

  void look_up_waiting();
  void look_up_waiting(Process& process);
  /// Of the reference's rank that a process is compared with; of all ranks, if it declares none.
  [[nodiscard]] std::optional<std::uint64_t> reached(const RankIdentity& rank) const;

  Lockstep& lockstep_;
  bool is_reference_;
  Advance& own_;
  const Advance& other_;
  HeldProcesses& held_;
  Inquiry inquiry_;
  std::map<std::uint64_t, Process> processes_;
  std::size_t waiting_ = 0;  ///< of all of them
  bool waits_ = false;
  std::uint64_t waits_at_ = 0;
};

}  // namespace ulpscope::cli
