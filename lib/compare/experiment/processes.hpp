#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compare/experiment/results.hpp"
#include "ulpscope/replay.hpp"

namespace ulpscope::comparison::experiment {

/// What repeats of one request gave.
struct Repeats {
  std::vector<Results> results;  ///< different ones, in the order in which they came
  std::vector<unsigned> times;   ///< how often each came
  std::string failure;           ///< of a repeat; there are no further ones
  std::string capability;        ///< as ReplayAnswer has them
  std::string torch_version;

  /// How often these results came.
  [[nodiscard]] unsigned times_of(const Results& wanted) const;
};

/// Processes that replay, one at a time: the last one is kept as long as it is asked for.
class Processes {
 public:
  explicit Processes(const ReplayerFactory& factory) : factory_(factory) {}

  /// @throws Error with ErrorCode::usage if no replayer is installed.
  [[nodiscard]] ReplayAnswer replay(const ReplayStart& start, const ReplayRequest& request);
  [[nodiscard]] Repeats repeat(const ReplayStart& start, const ReplayRequest& request,
                               unsigned times);

 private:
  const ReplayerFactory& factory_;
  ReplayStart start_;
  std::unique_ptr<Replayer> replayer_;
};

}  // namespace ulpscope::comparison::experiment
