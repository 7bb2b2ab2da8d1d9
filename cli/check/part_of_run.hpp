#pragma once

#include <memory>
#include <utility>

#include "core/forwarded_run.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// A recording of which only a part is there, with what is known of the whole.
class PartOfRun : public ForwardedRun {
 public:
  PartOfRun(std::unique_ptr<Run> part, RunInfo whole)
      : ForwardedRun(*part), part_(std::move(part)), info_(std::move(whole)) {}

  [[nodiscard]] const RunInfo& info() const override { return info_; }

 private:
  std::unique_ptr<Run> part_;
  RunInfo info_;
};

}  // namespace ulpscope::cli
