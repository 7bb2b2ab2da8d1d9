#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "ring/inlined_calls.hpp"
#include "ring/settings.hpp"

namespace ulpscope::ring {

/// Says what a compiler has inlined at an address, as the file `object` counts.
using LookUpInlined =
    std::function<void(std::string_view object, std::uint64_t address, InlinedCalls& answer)>;

struct ServerOptions {
  Settings settings;
  /// Rings of all processes together. When a quarter of it is used up, further rings get smaller,
  /// down to 1 MiB; when all of it is, a new thread waits until the ring of a finished thread was
  /// read to its end.
  std::uint64_t ring_memory = std::uint64_t{4} << 30;
  std::size_t batch_bytes = std::size_t{1} << 20;  ///< copied out of a ring at once
  /// Called on a separate thread, one call at a time. A process waits for the answer.
  LookUpInlined look_up_inlined;
};

}  // namespace ulpscope::ring
