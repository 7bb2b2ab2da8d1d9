#pragma once

#include <cstdint>
#include <string>

#include "cli/base/exit.hpp"

/// What the process that records and the one that compares tell each other, a message each.
namespace ulpscope::cli {

enum class Sighting : std::uint8_t {
  /// The program has made a value that the other run does not have, or the process that compares
  /// has asked to be shown what was recorded. A snapshot of it can be compared.
  snapshot,
};

/// Why a recording has not begun. Nothing else comes from the process that was to record.
struct Trouble {
  std::string message;
  std::string hint;  ///< may be empty
  Exit exit = Exit::trouble;
};

enum class Answer : std::uint8_t {
  go_on,       ///< nothing differs
  look_again,  ///< what differs is known only when more has come
  leave,       ///< the program, in the state that it is in: no sighting is of interest any more
  let_go,      ///< the same, and a program that is held continues
  show,        ///< what was recorded so far, though nothing was seen
};

}  // namespace ulpscope::cli
