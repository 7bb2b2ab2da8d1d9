#pragma once

#include "capture/rng.hpp"

namespace ulpscope::capture {

class Thread;

/// The generators that the program has made itself, as far as ops draw from them. What it does to
/// one without an op (a seed, another state, numbers drawn in C++) shows in the state in which the
/// next op finds it or, after its last op, in the one in which it is left.

/// An op that was given a generator has left it in this state.
void note_drawn(const at::Generator& generator, const RngFingerprint& left);

/// Sends those that are in another state than their last op has left them in, as settings
/// `end.generator.N` (compare/diff/outcomes/moved_generators.hpp); of those that are gone the state
/// in which they went. They are numbered in the order in which the main thread's ops first drew
/// from them. Where ops of other threads draw, which of them is the last is a race: those are not
/// compared.
void send_moved_generators(Thread& thread);

/// Another process gives this one its tasks, as many as time allows: nothing is sent.
void leave_out_generators();

/// fork() copies the lock of this table.
void lock_drawn_generators();
void unlock_drawn_generators();

}  // namespace ulpscope::capture
