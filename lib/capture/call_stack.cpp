#include "capture/call_stack.hpp"

#include <unwind.h>

#include <algorithm>
#include <cstddef>
#include <new>

namespace ulpscope::capture {
namespace {

#if defined(__x86_64__)
constexpr auto& kPreserved = UnwindRow::kPreserved;
constexpr int kStackPointer = 7;
#elif defined(__aarch64__)
constexpr std::array<int, 6> kPreserved = {29, 19, 20, 21, 22, 23};
constexpr int kStackPointer = 31;
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

#if defined(__x86_64__)

namespace {

// Where the thread that runs first has its stack: the outermost frame ends there.
extern "C" void* __libc_stack_end;

constexpr std::uintptr_t kLargestStack = std::uintptr_t{1} << 30;

/// An address that the stack of `pointer` reaches up to: glibc keeps a thread's data at the upper
/// end of its stack. 0 for a stack of a different kind.
std::uintptr_t stack_end(std::uintptr_t pointer) noexcept {
  const auto own = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  const auto first = reinterpret_cast<std::uintptr_t>(__libc_stack_end);
  for (const std::uintptr_t end : {own, first})
    if (pointer < end && end - pointer < kLargestStack) return end;
  return 0;
}

std::uintptr_t word_at(std::uintptr_t address) noexcept {
  return *reinterpret_cast<const std::uintptr_t*>(address);
}

}  // namespace

const UnwindRow& CallStack::row_of(std::uintptr_t address) {
  const void* key = reinterpret_cast<const void*>(address);
  const UnwindRow* known = rows_.find(key);
  return known != nullptr ? *known : rows_.add(key, unwind_row(address));
}

bool CallStack::take_by_rows(const CallFrame& innermost) {
  const std::uintptr_t begin = innermost.stack;
  const std::uintptr_t end = stack_end(begin);
  const auto readable = [&](std::uintptr_t address) {
    return begin <= address && address < end && address % sizeof(std::uintptr_t) == 0;
  };
  CallFrame frame = innermost;
  // A return address may be past the end of its function: the call before it is not.
  for (std::uintptr_t inside = frame.address; size_ < kMost; inside = frame.address - 1) {
    frames_[size_++] = frame;
    const UnwindRow& row = row_of(inside);
    if (row.kind == UnwindRow::Kind::unknown) return true;
    if (row.kind == UnwindRow::Kind::unsupported) return false;

    const std::uintptr_t frame_pointer = frame.saved[0];
    const auto offset = static_cast<std::uintptr_t>(std::intptr_t{row.offset});
    std::uintptr_t frame_end =
        (row.base == UnwindRow::Base::stack_pointer ? frame.stack : frame_pointer) + offset;
    if (row.base == UnwindRow::Base::frame_pointer_word) {
      if (!readable(frame_end)) return false;
      frame_end = word_at(frame_end);
    }
    if (frame_end <= frame.stack || !readable(frame_end - sizeof(std::uintptr_t))) return false;

    CallFrame caller;
    caller.stack = frame_end;
    for (std::size_t i = 0; i < row.saved.size(); ++i) {
      const UnwindRow::Saved& saved = row.saved[i];
      caller.saved[i] = frame.saved[i];
      if (saved.place == UnwindRow::Place::unchanged) continue;
      const std::uintptr_t place =
          (saved.place == UnwindRow::Place::end ? frame_end : frame_pointer) +
          static_cast<std::uintptr_t>(std::intptr_t{saved.offset});
      if (!readable(place)) return false;
      caller.saved[i] = word_at(place);
    }
    if (row.kind == UnwindRow::Kind::step)
      caller.address = word_at(frame_end - sizeof(std::uintptr_t));
    if (caller.address == 0) {
      if (size_ < kMost) frames_[size_++] = caller;
      return true;
    }
    frame = caller;
  }
  return true;
}

#endif

void CallStack::take() noexcept {
  size_ = 0;
#if defined(__x86_64__)
  CallFrame here;
  asm volatile(
      "lea 0(%%rip), %%rax\n\t"
      "mov %%rax, %c[address](%[here])\n\t"
      "mov %%rsp, %c[stack](%[here])\n\t"
      "mov %%rbp, %c[saved](%[here])\n\t"
      "mov %%rbx, %c[saved]+8(%[here])\n\t"
      "mov %%r12, %c[saved]+16(%[here])\n\t"
      "mov %%r13, %c[saved]+24(%[here])\n\t"
      "mov %%r14, %c[saved]+32(%[here])\n\t"
      "mov %%r15, %c[saved]+40(%[here])"
      :
      : [here] "r"(&here), [address] "i"(offsetof(CallFrame, address)),
        [stack] "i"(offsetof(CallFrame, stack)), [saved] "i"(offsetof(CallFrame, saved))
      : "rax", "memory");
  try {
    if (take_by_rows(here)) return;
  } catch (const std::bad_alloc&) {  // of a row; the stack can still be taken
  }
  size_ = 0;
#endif
  _Unwind_Backtrace(&StackReader::add, this);
}

std::uintptr_t CallStack::at(std::size_t index, const ring::SelfPlace& place) const noexcept {
  const CallFrame& frame = frames_[index];
  std::uintptr_t base = 0;
  if (place.base == ring::SelfPlace::kFrameEnd) {
    base = end_of(index);
  } else if (place.base == kStackPointer) {
    base = frame.stack;
  } else {
    const auto found = std::find(kPreserved.begin(), kPreserved.end(), place.base);
    if (found == kPreserved.end()) return 0;
    base = frame.saved[static_cast<std::size_t>(found - kPreserved.begin())];
  }
  const std::uintptr_t address = base + static_cast<std::uintptr_t>(std::intptr_t{place.offset});
  if (place.in_memory == 0) return address;
  const std::uintptr_t end = frames_[size_ - 1].stack;
  if (address < frame.stack || address >= end || address % sizeof(std::uintptr_t) != 0) return 0;
  return *reinterpret_cast<const std::uintptr_t*>(address);
}

std::span<const std::uintptr_t> CallStack::words(std::size_t index) const noexcept {
  const std::uintptr_t begin = frames_[index].stack;
  const std::uintptr_t end = end_of(index);
  if (end <= begin || end - begin > kLargestFrame || begin % sizeof(std::uintptr_t) != 0) return {};
  const std::size_t count = std::min((end - begin) / sizeof(std::uintptr_t), kMostWords);
  return {reinterpret_cast<const std::uintptr_t*>(end) - count, count};
}

}  // namespace ulpscope::capture
