#pragma once

#include "capture/thread.hpp"

namespace ulpscope::capture {

/// Sends the settings of the process that have changed since they were last sent: all of them at
/// first, then what a program changes while it runs. Thread counts and rounding modes belong to a
/// thread: one thread speaks for the process, the main one or the one that `trains`. Other threads
/// leave this to it, so that a change has one place in the run.
void sample_environment(Thread& thread, bool trains = false);
/// The same where an optimizer's step begins. Outside of the steps that are recorded the first op
/// of those does it.
void sample_at_step(Thread& thread);

void lock_environment();  ///< for fork()
void unlock_environment();

}  // namespace ulpscope::capture
