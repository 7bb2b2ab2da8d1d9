#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "writer/stages/messages.hpp"

namespace ulpscope::test {

/// What a stage makes of messages of a lane, and after them what is no message.
template <class Stage>
std::vector<std::byte> through(Stage& stage, std::uint32_t lane,
                               std::span<const std::byte> messages) {
  std::vector<std::byte> stored;
  const auto rest = writer::for_each_message(
      messages, [&](auto message) { writer::append(stored, stage.apply(lane, message)); });
  writer::append(stored, rest);
  return stored;
}

}  // namespace ulpscope::test
