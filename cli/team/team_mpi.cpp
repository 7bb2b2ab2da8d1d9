#include <dlfcn.h>
#include <fmt/format.h>

#include "cli/base/library_beside.hpp"
#include "cli/team/compare_in_team.hpp"
#include "cli/term/say.hpp"
#include "compare/together/together.hpp"
#include "mpi/mpi_team.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::string_view kLibrary = "libulpscope_mpi.so";

[[noreturn]] void refuse(const Launch& launch, const std::string& why) {
  throw Error(ErrorCode::usage,
              fmt::format("{} processes were started by mpirun and cannot work together: {}",
                          launch.size, why),
              "start one process, or install the MPI that ulpscope was built with");
}

/// The library stays mapped: MPI has its own threads and exit handlers.
std::unique_ptr<Team> join(const Launch& launch) {
  const auto path = library_beside(kLibrary);
  if (!path) refuse(launch, fmt::format("{} is not installed", kLibrary));
  void* const library = dlopen(path->c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  if (library == nullptr) refuse(launch, dlerror());
  const auto join_team =
      reinterpret_cast<decltype(&ulpscope_join_mpi_team)>(dlsym(library, "ulpscope_join_mpi_team"));
  if (join_team == nullptr)
    refuse(launch, fmt::format("'{}' has a different version", path->string()));
  std::unique_ptr<Team> team(join_team());
  if (team == nullptr) refuse(launch, "MPI could not be brought up");
  if (team->size() != launch.size) refuse(launch, "mpirun belongs to a different MPI");
  return team;
}

std::optional<Report> compare_as_member(Team& team, TeamTask& task) {
  if (!all_say(team, task.arguments)) {
    if (team.member() != 0) return std::nullopt;
    throw Error(
        ErrorCode::usage,
        fmt::format("{} processes were started by mpirun with different arguments", team.size()),
        "all of them compare the same two dumps");
  }
  std::unique_ptr<Run> reference;
  std::unique_ptr<Run> candidate;
  const bool ready = all_manage(team, [&] {
    reference = task.open_reference();
    candidate = task.open_candidate();
    task.prepare(*reference, *candidate, task.options);
  });
  if (!ready) return std::nullopt;
  return compare_together(team, *reference, *candidate, task.options);
}

}  // namespace

std::optional<Report> compare_in_team(const Launch& launch, TeamTask task) {
  const std::unique_ptr<Team> team = join(launch);
  if (team->member() == 0) return compare_as_member(*team, task);
  try {
    return compare_as_member(*team, task);
  } catch (const std::exception& error) {
    say_error(
        fmt::format("process {} of {} cannot go on: {}", launch.member, launch.size, error.what()),
        "");
    team->end_all();
    throw;
  }
}

}  // namespace ulpscope::cli
