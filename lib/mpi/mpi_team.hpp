#pragma once

#include "compare/together/team.hpp"

extern "C" {

/// Joins the processes that mpirun has started. Null if MPI cannot be initialized. They separate
/// again when the object is deleted.
__attribute__((visibility("default"))) ulpscope::Team* ulpscope_join_mpi_team();
}
