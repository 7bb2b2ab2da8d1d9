#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace ulpscope::cli {

/// While it lives the terminal shows what is being done and for how long: "comparing: 12 s". From
/// the first second on, on standard error, erased at the end; see Progress.
class Working {
 public:
  explicit Working(std::string what);
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;
  ~Working();

 private:
  void run();

  std::string what_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace ulpscope::cli
