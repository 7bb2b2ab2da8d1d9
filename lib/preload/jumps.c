#define _GNU_SOURCE
#include "preload/jumps.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Each exported name is a naked jump through its slot, so registers, the hidden return pointer, `this`
 * and exceptions pass untouched. Until a slot is filled it holds a stub that finds the next
 * definition first; r11 carries the slot's address and is free at a call. */
#define ULPSCOPE_SYMBOL(group, class_name, mangled)            \
  __attribute__((visibility("hidden"))) extern void* ulpscope_slot_##mangled; \
  __asm__(                                                     \
      ".text\n"                                                \
      ".globl " #mangled "\n"                                  \
      ".type " #mangled ", @function\n" #mangled ":\n"         \
      "  endbr64\n"                                            \
      "  jmp *ulpscope_slot_" #mangled "(%rip)\n"              \
      ".size " #mangled ", .-" #mangled "\n"                   \
      ".type ulpscope_stub_" #mangled ", @function\n"          \
      "ulpscope_stub_" #mangled ":\n"                          \
      "  endbr64\n"                                            \
      "  lea ulpscope_slot_" #mangled "(%rip), %r11\n"         \
      "  jmp ulpscope_resolve_and_jump\n"                      \
      ".size ulpscope_stub_" #mangled ", .-ulpscope_stub_" #mangled "\n" \
      ".section .data.rel.local, \"aw\"\n"                     \
      ".balign 8\n"                                            \
      ".hidden ulpscope_slot_" #mangled "\n"                   \
      ".globl ulpscope_slot_" #mangled "\n"                    \
      "ulpscope_slot_" #mangled ":\n"                          \
      "  .quad ulpscope_stub_" #mangled "\n"                   \
      ".text\n");
#include "symbols.def"
/* Each op asks here whether anybody observes it. */
ULPSCOPE_SYMBOL(question, RecordFunction, _ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE)
#undef ULPSCOPE_SYMBOL

/* Saves what a call may carry in registers, looks up the function of the slot in r11 and continues
 * into it, as the dynamic loader's own lazy binding does. */
__asm__(
    ".text\n"
    ".type ulpscope_resolve_and_jump, @function\n"
    "ulpscope_resolve_and_jump:\n"
    "  .cfi_startproc\n"
    "  push %rbp\n"
    "  .cfi_def_cfa_offset 16\n"
    "  .cfi_offset %rbp, -16\n"
    "  mov %rsp, %rbp\n"
    "  .cfi_def_cfa_register %rbp\n"
    "  sub $192, %rsp\n"
    "  and $-16, %rsp\n"
    "  mov %rdi, 0(%rsp)\n"
    "  mov %rsi, 8(%rsp)\n"
    "  mov %rdx, 16(%rsp)\n"
    "  mov %rcx, 24(%rsp)\n"
    "  mov %r8, 32(%rsp)\n"
    "  mov %r9, 40(%rsp)\n"
    "  mov %rax, 48(%rsp)\n"
    "  movups %xmm0, 64(%rsp)\n"
    "  movups %xmm1, 80(%rsp)\n"
    "  movups %xmm2, 96(%rsp)\n"
    "  movups %xmm3, 112(%rsp)\n"
    "  movups %xmm4, 128(%rsp)\n"
    "  movups %xmm5, 144(%rsp)\n"
    "  movups %xmm6, 160(%rsp)\n"
    "  movups %xmm7, 176(%rsp)\n"
    "  mov %r11, %rdi\n"
    "  call ulpscope_resolve\n"
    "  mov %rax, %r11\n"
    "  mov 0(%rsp), %rdi\n"
    "  mov 8(%rsp), %rsi\n"
    "  mov 16(%rsp), %rdx\n"
    "  mov 24(%rsp), %rcx\n"
    "  mov 32(%rsp), %r8\n"
    "  mov 40(%rsp), %r9\n"
    "  mov 48(%rsp), %rax\n"
    "  movups 64(%rsp), %xmm0\n"
    "  movups 80(%rsp), %xmm1\n"
    "  movups 96(%rsp), %xmm2\n"
    "  movups 112(%rsp), %xmm3\n"
    "  movups 128(%rsp), %xmm4\n"
    "  movups 144(%rsp), %xmm5\n"
    "  movups 160(%rsp), %xmm6\n"
    "  movups 176(%rsp), %xmm7\n"
    "  leave\n"
    "  .cfi_def_cfa %rsp, 8\n"
    "  jmp *%r11\n"
    "  .cfi_endproc\n"
    ".size ulpscope_resolve_and_jump, .-ulpscope_resolve_and_jump\n");

static const struct UlpscopeSymbol symbols[] = {
#define ULPSCOPE_SYMBOL(group, class_name, mangled) {#mangled, &ulpscope_slot_##mangled},
#include "symbols.def"
    ULPSCOPE_SYMBOL(question, RecordFunction, _ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE)
#undef ULPSCOPE_SYMBOL
};
enum { symbol_count = sizeof(symbols) / sizeof(symbols[0]) };

static void** const question = &ulpscope_slot__ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE;
__attribute__((visibility("hidden"))) extern const char
    ulpscope_stub__ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE[];
static void (*before_first_op)(void);

/* What the slots held when the object was loaded. */
static void* stubs[symbol_count];

/* A process may end where the loader's lock is held, as a forked child's may be. */
static void* next_definition(const char* name);
__attribute__((constructor(101))) static void resolve_c_functions(void) {
  for (size_t i = 0; i < symbol_count; ++i) {
    if (strncmp(symbols[i].name, "_Z", 2) == 0) continue;
    void* next = next_definition(symbols[i].name);
    if (next) *symbols[i].slot = next;
  }
}

static void* next_definition(const char* name) {
  static const char* const libraries[] = {"libtorch_cpu.so", "libc10.so", "libtorch_cuda.so"};
  void* found = dlsym(RTLD_NEXT, name);
  for (size_t i = 0; !found && i < sizeof(libraries) / sizeof(libraries[0]); ++i) {
    void* torch = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
    if (!torch) continue;
    found = dlsym(torch, name);
    dlclose(torch);
  }
  return found;
}

static const char* name_of(void** slot) {
  for (size_t i = 0; i < symbol_count; ++i)
    if (symbols[i].slot == slot) return symbols[i].name;
  abort();
}

/* The definition of a slot that was called before it was filled: LibTorch was loaded by dlopen. */
__attribute__((used, visibility("hidden"))) void* ulpscope_resolve(void** slot) {
  if (slot == question && before_first_op) {
    before_first_op();
    void* filled = *slot; /* by the capture library */
    if (filled != ulpscope_stub__ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE) return filled;
  }
  void* next = next_definition(name_of(slot));
  if (!next) abort(); /* as the loader does for an undefined symbol */
  *slot = next;
  return next;
}

void ulpscope_call_before_first_op(void (*function)(void)) { before_first_op = function; }

int ulpscope_start_with_jumps(UlpscopeCaptureStart* start, const char* socket_path) {
  if (!stubs[0])
    for (size_t i = 0; i < symbol_count; ++i) stubs[i] = *symbols[i].slot;
  for (size_t i = 0; i < symbol_count; ++i)
    if (*symbols[i].slot == stubs[i]) *symbols[i].slot = next_definition(symbols[i].name);
  const int result = start(socket_path, symbols, symbol_count);
  for (size_t i = 0; i < symbol_count; ++i)
    if (!*symbols[i].slot) *symbols[i].slot = stubs[i];
  return result;
}
