#pragma once

/// The calls of a program that uses ulpscope/ulpscope.hpp, see program_calls.hpp.
namespace ulpscope::capture {

/// Tells the program's side whether something is recorded, so that its calls cost nothing while
/// nothing is. Does nothing in a program without it.
void tell_program(bool recording) noexcept;

}  // namespace ulpscope::capture
