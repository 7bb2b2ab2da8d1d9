#pragma once

#include <filesystem>

#include "ulpscope/replay_report.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// Writes a program that shows the same without Ulpscope, for a report of a bug in LibTorch:
/// reproduce.cpp calls the op under the base's conditions and those that give other bits,
/// inputs.h5 has its inputs, CMakeLists.txt builds it with LibTorch and HDF5. `run` is the report's
/// base. The directory is made, and must not exist or be empty.
///
/// @throws Error with ErrorCode::usage if there is something in the directory, or an argument of
/// the op cannot be written as C++, and with ErrorCode::io.
void export_program(const std::filesystem::path& directory, const Run& run,
                    const ReplayReport& report);

}  // namespace ulpscope::cli
