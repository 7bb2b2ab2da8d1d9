#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "ring/descriptor.hpp"
#include "ring/server_options.hpp"

namespace ulpscope::ring {

/// Answers what is inlined at an address on a separate thread: reading debug information takes
/// longer than a new thread may wait for its ring.
class InlinedLookups {
 public:
  explicit InlinedLookups(LookUpInlined look_up);
  InlinedLookups(const InlinedLookups&) = delete;
  InlinedLookups& operator=(const InlinedLookups&) = delete;
  /// Ends after the current lookup; the connections of the others end.
  ~InlinedLookups();

  /// Answers over `socket`, in the order of the questions.
  void ask(Descriptor socket, std::string object, std::uint64_t address);

 private:
  struct Question {
    Descriptor socket;
    std::string object;
    std::uint64_t address = 0;
  };
  void answer_all();

  LookUpInlined look_up_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Question> questions_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace ulpscope::ring
