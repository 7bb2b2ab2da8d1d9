#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// The variables of a program's main module when it ended, of which the recording of a Python
/// program has the names (lib/python/hooks/variables.py).
class ProgramVariables {
 public:
  explicit ProgramVariables(const std::vector<EnvironmentEntry>& environment);

  /// It surely has none of the variables that hold a tensor.
  /// @param holders the name of what is left: "best['0.weight'] = last"
  [[nodiscard]] bool lack(std::string_view holders) const;

 private:
  bool known_ = false;
  std::set<std::string, std::less<>> names_;
};

}  // namespace ulpscope::comparison
