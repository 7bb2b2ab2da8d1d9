#define _GNU_SOURCE
#include "preload.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Needs nothing but libc: it is loaded into every process of a recorded command. Where LibTorch is
 * mapped it brings in the capture library; elsewhere it does nothing. */

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
#undef ULPSCOPE_SYMBOL

/* Saves what a call may carry in registers, asks for the function behind the slot in r11 and goes on
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
#undef ULPSCOPE_SYMBOL
};
enum { symbol_count = sizeof(symbols) / sizeof(symbols[0]) };

static void* next_definition(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found) return found;
  void* torch = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  if (!torch) return NULL;
  found = dlsym(torch, name);
  dlclose(torch);
  return found;
}

/* The definition behind a slot that was called before it was filled: LibTorch came by dlopen. */
__attribute__((used, visibility("hidden"))) void* ulpscope_resolve(void** slot) {
  for (size_t i = 0; i < symbol_count; ++i) {
    if (symbols[i].slot != slot) continue;
    void* next = next_definition(symbols[i].name);
    if (!next) abort(); /* as the loader does for a symbol that nobody defines */
    *slot = next;
    return next;
  }
  abort();
}

static int find_torch(struct dl_phdr_info* info, size_t size, void* path) {
  (void)size;
  const char* name = strrchr(info->dlpi_name, '/');
  if (strcmp(name ? name + 1 : info->dlpi_name, "libtorch_cpu.so") != 0) return 0;
  *(const char**)path = info->dlpi_name;
  return 1;
}

/* LibTorch's version, packed by it as major, minor, patch in the three highest bytes
 * (torch/csrc/inductor/aoti_torch/c/shim.h). */
typedef uint64_t AbiVersion(void);

static void* open_capture(const char* torch_path, const char* directory) {
  void* torch = dlopen(torch_path, RTLD_LAZY | RTLD_NOLOAD);
  if (!torch) return NULL;
  AbiVersion* abi_version = (AbiVersion*)dlsym(torch, "aoti_torch_abi_version");
  void* capture = NULL;
  if (abi_version) {
    const uint64_t version = abi_version();
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/libulpscope_capture-%u.%u.so", directory,
                                (unsigned)(version >> 56), (unsigned)(version >> 48 & 0xff));
    if (length > 0 && (size_t)length < sizeof path) capture = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  dlclose(torch);
  return capture;
}

__attribute__((constructor)) static void enter(void) {
  const char* directory = getenv("ULPSCOPE_CAPTURE_LIBRARY");
  if (!directory || !getenv("ULPSCOPE_SOCKET")) return;
  const char* torch_path = NULL;
  if (!dl_iterate_phdr(find_torch, &torch_path)) return;

  void* capture = open_capture(torch_path, directory);
  if (!capture) return;
  UlpscopeCaptureStart* start = (UlpscopeCaptureStart*)dlsym(capture, "ulpscope_capture_start");
  if (!start) return;
  void* stubs[symbol_count];
  for (size_t i = 0; i < symbol_count; ++i) {
    stubs[i] = *symbols[i].slot;
    *symbols[i].slot = next_definition(symbols[i].name);
  }
  start(symbols, symbol_count);
  for (size_t i = 0; i < symbol_count; ++i)
    if (!*symbols[i].slot) *symbols[i].slot = stubs[i];
}
