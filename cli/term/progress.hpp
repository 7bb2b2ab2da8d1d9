#pragma once

#include <chrono>
#include <string_view>

namespace ulpscope::cli {

/// One line on standard error, from the first second on, that is written over at most five times a
/// second and erased at the end. Says nothing if standard error is not a terminal or this
/// process is in its background.
class Progress {
 public:
  Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { erase(); }

  void show(std::string_view text);
  void erase();

 private:
  bool enabled_ = false;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace ulpscope::cli
