#include "capture/call_stack.hpp"

#include <unwind.h>

#include <algorithm>

namespace ulpscope::capture {
namespace {

#if defined(__x86_64__)
constexpr std::array<int, 6> kPreserved = {6, 3, 12, 13, 14, 15};  // rbp, rbx, r12 to r15
#elif defined(__aarch64__)
constexpr std::array<int, 6> kPreserved = {29, 19, 20, 21, 22, 23};
#else
#error "the registers that calls preserve are not known for this processor"
#endif

constexpr std::size_t kMostWords = 512;
constexpr std::uintptr_t kLargestFrame = 1 << 16;  // beyond it two frames lie on different stacks

}  // namespace

struct StackReader {
  static _Unwind_Reason_Code add(_Unwind_Context* context, void* data) noexcept {
    auto& stack = *static_cast<CallStack*>(data);
    if (stack.size_ == CallStack::kMost) return _URC_NORMAL_STOP;
    CallFrame& frame = stack.frames_[stack.size_++];
    frame.address = _Unwind_GetIP(context);
    frame.stack = _Unwind_GetCFA(context);
    for (std::size_t i = 0; i < kPreserved.size(); ++i)
      frame.saved[i] = _Unwind_GetGR(context, kPreserved[i]);
    return _URC_NO_REASON;
  }
};

void CallStack::take() noexcept {
  size_ = 0;
  _Unwind_Backtrace(&StackReader::add, this);
}

std::span<const std::uintptr_t> CallStack::words(std::size_t index) const noexcept {
  const std::uintptr_t begin = frames_[index].stack;
  const std::uintptr_t end = end_of(index);
  if (end <= begin || end - begin > kLargestFrame || begin % sizeof(std::uintptr_t) != 0) return {};
  const std::size_t count = std::min((end - begin) / sizeof(std::uintptr_t), kMostWords);
  return {reinterpret_cast<const std::uintptr_t*>(end) - count, count};
}

}  // namespace ulpscope::capture
