#pragma once

#include <cstdint>
#include <string>

#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// The first parameter or buffer that several threads of the program write, each run in an order of
/// its own: "2.weight: its write 4 is by thread 0 in the reference and by thread 1 in the
/// candidate". Empty if there is none. Reads both runs once.
[[nodiscard]] std::string other_write_order(const Both<const Run*>& runs,
                                            const Both<std::uint32_t>& ranks);

}  // namespace ulpscope::comparison
