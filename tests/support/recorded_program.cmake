# compile_with_clang(<target>)
# A LibTorch program takes GCC 18 s to compile and Clang, without optimization, 7 s. Where there is no Clang, the compiler
# of the build does it, without optimization, too.
find_program(ULPSCOPE_CLANG clang++)
function(compile_with_clang target)
  get_target_property(options ${target} COMPILE_OPTIONS)
  list(FILTER options EXCLUDE REGEX "^-O")
  set_target_properties(${target} PROPERTIES COMPILE_OPTIONS "-O0")
  target_compile_options(${target} PRIVATE ${options})
  if(ULPSCOPE_CLANG)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
      "bash;${PROJECT_SOURCE_DIR}/tests/support/with_clang.sh;${CMAKE_CXX_COMPILER_LAUNCHER};--")
  endif()
endfunction()

# precompiled_torch_header(<target>)
# Most of what a LibTorch program costs to compile is <torch/torch.h>, and after that what reads flags and files: for
# executables, and for objects of them, these are compiled once for each compiler and set of options. To be called when
# the target has both.
find_package(CLI11 REQUIRED)
function(precompiled_torch_header target)
  get_target_property(options ${target} COMPILE_OPTIONS)
  get_target_property(launcher ${target} CXX_COMPILER_LAUNCHER)
  list(JOIN options " " name)
  if(launcher MATCHES "clang")
    string(PREPEND name "clang ")
  endif()
  string(MAKE_C_IDENTIFIER "torch_header ${name}" header)
  if(NOT TARGET ${header})
    file(WRITE ${CMAKE_BINARY_DIR}/${header}.cpp "")
    add_library(${header} OBJECT ${CMAKE_BINARY_DIR}/${header}.cpp)
    target_link_libraries(${header} PRIVATE ulpscope_torch CLI11::CLI11 ulpscope_warnings)
    # As an executable's sources are compiled, or it could not be used for them.
    target_compile_options(${header} PRIVATE ${options} -fPIE)
    target_precompile_headers(${header} PRIVATE <torch/torch.h> <CLI/CLI.hpp> <filesystem> <fstream> <random>)
    set_target_properties(${header} PROPERTIES POSITION_INDEPENDENT_CODE OFF EXCLUDE_FROM_ALL ON)
    if(launcher)
      set_target_properties(${header} PROPERTIES CXX_COMPILER_LAUNCHER "${launcher}")
    endif()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "OBJECT_LIBRARY")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIE)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${header})
endfunction()

# recorded_program(<name> SOURCES <files>... [OPTIONS <compiler options>...] [DEPENDS <targets>...])
# A LibTorch program of the tests. Its options are given here because they decide who compiles it: the few that are
# optimized, the compiler of the build, for which a precompiled header would not pay. Several sources are compiled as
# one.
function(recorded_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;OPTIONS;DEPENDS")
  ulpscope_torch_program(${name} SOURCES ${arg_SOURCES} DEPENDS ${arg_DEPENDS})
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  ulpscope_unity(${name})
  if(NOT "-O2" IN_LIST arg_OPTIONS)
    compile_with_clang(${name})
    precompiled_torch_header(${name})
    # LibTorch would call what is not optimized here in place of its own functions of std::string, as it starts.
    target_link_options(${name} PRIVATE "LINKER:--version-script=${PROJECT_SOURCE_DIR}/tests/support/own_templates.map")
  endif()
endfunction()
