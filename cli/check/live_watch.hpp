#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "cli/check/inquiry.hpp"
#include "cli/check/lockstep.hpp"
#include "ulpscope/report.hpp"
#include "writer/reference_values.hpp"

namespace ulpscope::cli {

/// In the process that records one of two programs that run side by side: the one that is ahead
/// waits, and the candidate's values are looked for among those of the reference once that has got
/// as far.
class LiveWatch {
 public:
  LiveWatch(Lockstep& lockstep, bool is_reference, Inquiry::Options options);

  void see(const writer::BegunSteps& steps, std::span<const std::byte> messages);
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

  void look_up_waiting();
  [[nodiscard]] bool is_ahead() const;

  Lockstep& lockstep_;
  bool is_reference_;
  Advance& own_;
  const Advance& other_;
  Inquiry inquiry_;
  std::deque<Waiting> waiting_;
  bool waits_ = false;
  std::uint64_t waits_at_ = 0;
};

}  // namespace ulpscope::cli
