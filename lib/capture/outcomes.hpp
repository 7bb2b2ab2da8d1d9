#pragma once

#include "capture/thread.hpp"

/// What a run leaves: the memory that is live when it ends, and memory that a thread has freed
/// after its last op, as `main` does at its end. Bytes are digested again, so that a write that no
/// op made is seen. The only cost while the program computes is a note for each block of memory
/// that is freed.
namespace ulpscope::capture {

/// The program frees memory of LibTorch's allocator while values are wanted.
void note_freed(const void* memory) noexcept;

/// The program makes a tensor of memory of its own (`from_blob`).
void note_foreign(const at::Tensor& tensor);

/// Sends what the thread has freed since its last op: it ends.
void send_outcomes_of_thread(Thread& thread);

/// The program continues after it has freed parameters or buffers: sends their last state.
void send_freed_state(Thread& thread);

/// Sends what the calling thread has freed and all live memory: the program ends, or its recording.
/// Does nothing if the thread has not done anything since it last did that.
/// @param at_once by _exit(): a thread that has not computed requests no lane then.
void send_outcomes_of_run(bool at_once = false) noexcept;

/// A process of a pool has done a task, after which the pool may end it by a signal: sends what no
/// op has shown of its memory. Does nothing where that is too much to be read after each task.
void send_outcomes_of_task() noexcept;

/// Has send_outcomes_of_run() called when the program exits, before it destroys what it made before
/// its first op.
void send_outcomes_at_exit();

void lock_outcomes();  ///< for fork()
void unlock_outcomes();

}  // namespace ulpscope::capture
