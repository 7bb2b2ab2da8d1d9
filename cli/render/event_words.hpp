#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ulpscope/run.hpp"

/// What an event is and the state that it and its tensors were in, in words.
namespace ulpscope::cli {

struct Word {
  std::string_view id;    ///< for programs: "in_backward"
  std::string_view text;  ///< for people: "in backward"
};

[[nodiscard]] Word kind_word(EventKind kind);
[[nodiscard]] std::vector<Word> event_states(std::uint32_t flags);
[[nodiscard]] std::vector<Word> slot_states(std::uint32_t flags);

/// "main", "autograd", "worker", "thread", "trainer".
[[nodiscard]] std::string_view role_name(LaneRole role);

/// A tensor's own name, else that of the argument or return in the op's schema; may be empty.
[[nodiscard]] std::string_view slot_name(const Event& event, const Slot& slot);

}  // namespace ulpscope::cli
