# precompiled_torch_header(<target>)
# Most of what a LibTorch program costs to compile is <torch/torch.h>: for executables, and for objects of them, it is
# compiled once for each set of options (9 s instead of 20 s a source, and 30 s once). To be called when the target has
# its options.
function(precompiled_torch_header target)
  get_target_property(options ${target} COMPILE_OPTIONS)
  list(JOIN options " " name)
  string(MAKE_C_IDENTIFIER "torch_header ${name}" header)
  if(NOT TARGET ${header})
    file(WRITE ${CMAKE_BINARY_DIR}/${header}.cpp "")
    add_library(${header} OBJECT ${CMAKE_BINARY_DIR}/${header}.cpp)
    target_link_libraries(${header} PRIVATE ulpscope_torch ulpscope_warnings)
    # As an executable's sources are compiled, or it could not be used for them.
    target_compile_options(${header} PRIVATE ${options} -fPIE)
    target_precompile_headers(${header} PRIVATE <torch/torch.h>)
    set_target_properties(${header} PROPERTIES POSITION_INDEPENDENT_CODE OFF EXCLUDE_FROM_ALL ON)
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "OBJECT_LIBRARY")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIE)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${header})
endfunction()

# recorded_program(<name> SOURCES <files>... [OPTIONS <compiler options>...] [ALONE] [DEPENDS <targets>...])
# A LibTorch program of the tests. Its options are given here because they decide which precompiled header it gets;
# ALONE are programs whose options hardly any other has. Several sources are compiled as one.
function(recorded_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ALONE" "" "SOURCES;OPTIONS;DEPENDS")
  ulpscope_torch_program(${name} SOURCES ${arg_SOURCES} DEPENDS ${arg_DEPENDS})
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  ulpscope_unity(${name})
  if(NOT arg_ALONE)
    precompiled_torch_header(${name})
  endif()
endfunction()
