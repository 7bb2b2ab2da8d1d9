#pragma once

#include <cstddef>
#include <string_view>

#include "capture/thread.hpp"

/// Where in its Python code the program is.
namespace ulpscope::capture {

/// Appends the Python calls of the calling thread to its `stack_frames`, innermost first, PyTorch's
/// own left out, up to a number of frames: an object "python:FILE\nFUNCTION" and the line as
/// offset. Takes the interpreter's lock: to be called where no lock of capture is held.
/// @return false if the thread runs no Python code.
bool take_python_frames(Thread& thread, std::size_t most);

/// Frames in this file are none of the program's.
void leave_out_frames_in(std::string_view file);

/// Around a fork, which copies a lock as it is.
void lock_python_frames();
void unlock_python_frames();

/// The interpreter is about to end, after which a thread that waits for its lock never gets it: no
/// frames are taken from now on. Waits for threads that take some. To be called without the
/// interpreter's lock.
void end_python_frames() noexcept;

}  // namespace ulpscope::capture
