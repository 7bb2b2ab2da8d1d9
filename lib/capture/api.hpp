#pragma once

/// The calls of a program that uses ulpscope/ulpscope.hpp, see program_calls.hpp.
namespace ulpscope::capture {

/// Notifies the program's side whether something is recorded, so that its calls cost nothing while
/// nothing is. Does nothing in a program without it.
void tell_program(bool recording) noexcept;

/// The same in a child that was just forked, where nothing is: allocates nothing, for a signal
/// handler may have forked it from inside malloc().
void tell_program_in_child() noexcept;

}  // namespace ulpscope::capture
