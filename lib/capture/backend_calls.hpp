#pragma once

#include <ATen/core/ivalue.h>
#include <c10/util/ArrayRef.h>

#include <cstddef>
#include <exception>

#include "capture/op_info.hpp"
#include "capture/recorder.hpp"
#include "capture/thread.hpp"

namespace ulpscope::capture {

/// The event of an op of `c10d` that the program executes by calling its backend directly; ends
/// with the scope, also by an exception. Not created inside the op itself.
class BackendCall {
 public:
  /// Both are called only while something is recorded: `find_info` returns the op, null if this
  /// LibTorch has none; `arguments` takes the value for the group and returns the arguments of the
  /// op's schema.
  template <class FindInfo, class Arguments>
  BackendCall(const void* backend, FindInfo&& find_info, Arguments&& arguments) noexcept {
    if (thread_ == nullptr) return;
    const Thread::Inside inside(*thread_);
    guarded("the start of a collective", [&] {
      if (const OpInfo* info = find_info()) begin(*info, backend, arguments(group_of(backend)));
    });
  }

  /// `results` is called if the call is recorded.
  template <class Results>
  void returned(Results&& results) noexcept {
    if (!is_recorded()) return;
    const Thread::Inside inside(*thread_);
    guarded("the end of a collective", [&] { end(/*threw=*/false, results()); });
  }

  ~BackendCall();
  BackendCall(const BackendCall&) = delete;
  BackendCall& operator=(const BackendCall&) = delete;

 private:
  static c10::IValue group_of(const void* backend);
  void begin(const OpInfo& info, const void* backend, c10::ArrayRef<const c10::IValue> arguments);
  void end(bool threw, c10::ArrayRef<const c10::IValue> results);
  [[nodiscard]] bool is_recorded() const noexcept {
    return frames_ != 0 && Thread::current() == thread_;
  }

  Thread* thread_ = Thread::current();
  std::size_t frames_ = 0;  ///< number of frames including this call's; 0: it has none
};

}  // namespace ulpscope::capture
