#pragma once

#include <cfenv>

namespace ulpscope::core {

/// Rounding to nearest and subnormals kept while it lives, whatever the caller has set.
class DefaultFloatingPoint {
 public:
  DefaultFloatingPoint() noexcept {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;
  ~DefaultFloatingPoint() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
};

}  // namespace ulpscope::core
