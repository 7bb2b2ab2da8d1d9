#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace ulpscope::comparison {

/// Says which calls of the program are the same ones in both runs. A call is known by the text of
/// its lines, not by their numbers, so that lines added to the program change nothing.
class CallKeys {
 public:
  /// @param stack of an event; must stay alive
  /// @return 0 where the text of a line was not recorded
  [[nodiscard]] std::uint64_t of(std::string_view stack);

 private:
  std::unordered_map<std::string_view, std::uint64_t> keys_;
};

}  // namespace ulpscope::comparison
