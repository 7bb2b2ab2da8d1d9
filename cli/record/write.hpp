#pragma once

#include "cli/record/session.hpp"

namespace ulpscope::cli {

/// The writing side of ulpscope::Recorder (ulpscope/ulpscope.hpp), in a process of its own. Prints
/// "ready", the path of its socket and that of the dump, a line each, lets go of everything that it
/// was started with, and returns when the program has left, or has ended. What goes wrong from then
/// on stands in the dump.
///
/// @throws Error where the dump cannot be made.
void write(const RecordOptions& options);

}  // namespace ulpscope::cli
