add_library(ulpscope_warnings INTERFACE)
target_compile_options(ulpscope_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow>
  # As GCC has it, -Wconversion says nothing of signs; pages and help are longer than what every compiler takes.
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-sign-conversion -Wno-overlength-strings>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${ULPSCOPE_WERROR}>>:-Werror>
  # Without -Wpedantic and -Wconversion, which find fault with what nvcc itself writes.
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow>
  $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${ULPSCOPE_WERROR}>>:-Werror=all-warnings -Xcompiler=-Werror>)

# For every target that never meets LibTorch: a sanitizer's runtime must not enter a recorded program. Unless it is to
# run for long, as fuzzers are, code that is not optimized is compiled and run in less time.
add_library(ulpscope_sanitizers INTERFACE)
if(ULPSCOPE_FUZZ)
  set(sanitized_level -O1)
else()
  set(sanitized_level -O0)
endif()
if(ULPSCOPE_SANITIZE)
  target_compile_options(ulpscope_sanitizers INTERFACE
    -fsanitize=${ULPSCOPE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer ${sanitized_level} -g1)
  target_link_options(ulpscope_sanitizers INTERFACE -fsanitize=${ULPSCOPE_SANITIZE})
  # What is sanitized is large: binutils' linker takes four times as long.
  find_program(ULPSCOPE_LLD ld.lld)
  if(ULPSCOPE_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_link_options(ulpscope_sanitizers INTERFACE -fuse-ld=lld)
  endif()
endif()
if(ULPSCOPE_FUZZ)
  target_compile_options(ulpscope_sanitizers INTERFACE -fsanitize=fuzzer-no-link)
endif()

# After ulpscope_sanitizers, for what works on values that others have read and checked. Checks of every pointer take
# much of the time to compile it. Null pointers are found by ASan, and only who reads bytes could make a misaligned one.
add_library(ulpscope_light_sanitizers INTERFACE)
if(ULPSCOPE_SANITIZE MATCHES "undefined" AND NOT ULPSCOPE_FUZZ)
  target_compile_options(ulpscope_light_sanitizers INTERFACE -fno-sanitize=alignment,null)
endif()

# After ulpscope_sanitizers, for what goes through every byte.
add_library(ulpscope_optimized INTERFACE)
if(ULPSCOPE_SANITIZE)
  # SHELL: the same option earlier on the command line would make CMake leave it out here.
  target_compile_options(ulpscope_optimized INTERFACE "SHELL:-O1")
endif()
