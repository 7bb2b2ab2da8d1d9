#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>

#include "cli/check/inquiry.hpp"
#include "ulpscope/run.hpp"
#include "writer/reference_values.hpp"

namespace ulpscope::cli {

/// In the process that records: notices values that a finished run lacks as they come.
class RecordingWatch {
 public:
  RecordingWatch(std::unique_ptr<Run> reference, Inquiry::Options options);

  void see(const writer::BegunSteps& steps, std::span<const std::byte> messages);
  void report(const Trouble& trouble) const { inquiry_.report(trouble); }
  /// How long nothing need be done.
  std::chrono::milliseconds after_round(writer::Session& session) {
    return inquiry_.after_round(session);
  }

 private:
  std::unique_ptr<Run> reference_;
  writer::ReferenceValues values_;
  Inquiry inquiry_;
};

}  // namespace ulpscope::cli
