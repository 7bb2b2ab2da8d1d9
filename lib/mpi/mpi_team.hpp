#pragma once

#include "compare/together/team.hpp"

extern "C" {

/// Joins the processes that mpirun has started. Null where MPI cannot be brought up. They part
/// again when the object is deleted.
__attribute__((visibility("default"))) ulpscope::Team* ulpscope_join_mpi_team();
}
