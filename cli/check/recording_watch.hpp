#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "cli/check/inquiry.hpp"
#include "ulpscope/run.hpp"
#include "writer/reference_values.hpp"

namespace ulpscope::cli {

/// In the process that records: notices values that a finished run lacks as they come.
class RecordingWatch {
 public:
  RecordingWatch(std::unique_ptr<Run> reference, Inquiry::Options options);

  void see(const writer::Written& written);
  void report(const Trouble& trouble) const { inquiry_.report(trouble); }
  /// How long nothing need be done.
  std::chrono::milliseconds after_round(writer::Session& session) {
    return inquiry_.after_round(session);
  }

 private:
  [[nodiscard]] writer::ReferenceValues& values_for(const writer::Written& written);

  std::unique_ptr<Run> reference_;
  std::map<std::vector<std::uint32_t>, writer::ReferenceValues> values_;  ///< by ranks of it
  std::map<std::uint64_t, writer::ReferenceValues*> of_process_;
  Inquiry inquiry_;
};

}  // namespace ulpscope::cli
