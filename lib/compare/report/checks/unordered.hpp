#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "compare/report/checks/check.hpp"

namespace ulpscope::comparison {

/// Collects the ops whose results may be others every time.
class UnorderedCollector {
 public:
  void see(const Lane& lane, const Block& block);
  [[nodiscard]] Check check() const;

 private:
  struct Calls {
    std::uint64_t count = 0;
    std::string first;  ///< in words
    std::string_view why;
  };
  std::map<std::string, Calls> ops_;
};

}  // namespace ulpscope::comparison
