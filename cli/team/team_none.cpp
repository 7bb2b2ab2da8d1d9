#include <fmt/format.h>

#include "cli/team/compare_in_team.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {

std::optional<Report> compare_in_team(const Launch& launch, TeamTask) {
  if (!launch.speaks()) return std::nullopt;
  throw Error(
      ErrorCode::usage,
      fmt::format("{} processes were started by mpirun, and this ulpscope was built without "
                  "MPI",
                  launch.size),
      "start one process, or build ulpscope where MPI is installed");
}

}  // namespace ulpscope::cli
