#include "capture/system_calls.hpp"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "capture/recorder.hpp"

/// What ulpscope_system_call calls.
extern "C" __attribute__((visibility("hidden"))) void** ulpscope_next_system_call;
void** ulpscope_next_system_call = nullptr;

extern "C" __attribute__((visibility("hidden"))) void ulpscope_system_call();

/// No C++: it could not leave the stack alone, where another thread may write to what lies in the
/// last argument's place in a call without one. The numbers are those of prctl and seccomp.
static_assert(SYS_prctl == 157 && SYS_seccomp == 317);
__asm__(
    ".text\n"
    ".hidden ulpscope_system_call\n"
    ".globl ulpscope_system_call\n"
    ".type ulpscope_system_call, @function\n"
    "ulpscope_system_call:\n"
    "  .cfi_startproc\n"
    "  endbr64\n"
    "  cmp $157, %rdi\n"
    "  je 1f\n"
    "  cmp $317, %rdi\n"
    "  jne 2f\n"
    "1:\n"
    "  push %rbp\n"
    "  .cfi_def_cfa_offset 16\n"
    "  .cfi_offset %rbp, -16\n"
    "  mov %rsp, %rbp\n"
    "  .cfi_def_cfa_register %rbp\n"
    "  push %rdi\n"
    "  push %rsi\n"
    "  push %rdx\n"
    "  push %rcx\n"
    "  push %r8\n"
    "  push %r9\n"
    "  call ulpscope_before_system_call\n"
    "  pop %r9\n"
    "  pop %r8\n"
    "  pop %rcx\n"
    "  pop %rdx\n"
    "  pop %rsi\n"
    "  pop %rdi\n"
    "  pop %rbp\n"
    "  .cfi_def_cfa %rsp, 8\n"
    "2:\n"
    "  mov ulpscope_next_system_call(%rip), %r11\n"
    "  jmp *(%r11)\n"
    "  .cfi_endproc\n"
    ".size ulpscope_system_call, .-ulpscope_system_call\n");

namespace ulpscope::capture {
namespace {

/// Programs request a filter without providing one to learn whether the system supports them.
void before_seccomp(bool strict, bool filters, unsigned long filter) noexcept {
  if (strict || (filters && filter != 0)) fall_silent();
}

}  // namespace

void before_prctl(unsigned long option, unsigned long mode, unsigned long filter) noexcept {
  if (option == PR_SET_SECCOMP)
    before_seccomp(mode == SECCOMP_MODE_STRICT, mode == SECCOMP_MODE_FILTER, filter);
}

void* system_call_wrapper(void** next) noexcept {
  ulpscope_next_system_call = next;
  return reinterpret_cast<void*>(&ulpscope_system_call);
}

}  // namespace ulpscope::capture

/// Before syscall(2) with one of the two numbers.
extern "C" __attribute__((visibility("hidden"), used)) void ulpscope_before_system_call(
    long number, unsigned long first, unsigned long second, unsigned long third) noexcept {
  using namespace ulpscope::capture;
  if (number == SYS_prctl)
    before_prctl(first, second, third);
  else
    before_seccomp(first == SECCOMP_SET_MODE_STRICT, first == SECCOMP_SET_MODE_FILTER, third);
}
