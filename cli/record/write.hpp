#pragma once

#include "cli/record/session.hpp"

namespace ulpscope::cli {

/// The writing side of ulpscope::Recorder (ulpscope/ulpscope.hpp), a separate process. Prints
/// "ready", the path of its socket and that of the dump, one per line, releases everything that it
/// was started with, and returns when the program has left or ended. Later errors are recorded in
/// the dump.
///
/// @throws Error if the dump cannot be created.
void write(const RecordOptions& options);

}  // namespace ulpscope::cli
