# Finds LibTorch and creates the target ulpscope_torch, without find_package(Torch): that one demands a
# CUDA toolkit from every machine that builds against a CUDA wheel.
#
# Looked for in this order:
#   Torch_DIR              as find_package(Torch) takes it: .../share/cmake/Torch
#   CMAKE_PREFIX_PATH      a LibTorch root, or its share/cmake
#   ULPSCOPE_TORCH         CMake variable, then environment: the folder that holds lib/libtorch_cpu.so
#   build/torch/torch      what `bash cli/setup.sh` installs
#
# Sets in the cache: ULPSCOPE_TORCH_ROOT, ULPSCOPE_TORCH_LIBRARY_DIR, ULPSCOPE_TORCH_FOUND_VERSION (2.11.0).
#
# ulpscope_torch carries no run path: what is loaded into a LibTorch program shares that program's
# LibTorch. Ulpscope's own programs get one from ulpscope_torch_program().

set(ULPSCOPE_TORCH "" CACHE PATH "Folder that holds lib/libtorch_cpu.so; empty: search")

# Ends the configuration with what was wrong and what to do.
function(_ulpscope_torch_missing reason)
  message(FATAL_ERROR "${reason} Run `bash cli/setup.sh`, which installs the official wheel into "
                      "build/torch, or name your own with -DULPSCOPE_TORCH=/path/to/libtorch, or "
                      "build without it: -DULPSCOPE_WITH_TORCH=OFF.")
endfunction()

# The folders to look in, in order, as `out`.
function(_ulpscope_torch_candidates out)
  set(roots "")
  if(Torch_DIR)
    list(APPEND roots "${Torch_DIR}/../../.." "${Torch_DIR}/../../../..")
  endif()
  foreach(prefix IN LISTS CMAKE_PREFIX_PATH)
    list(APPEND roots "${prefix}" "${prefix}/../..")
  endforeach()
  list(APPEND roots ${ULPSCOPE_TORCH} $ENV{ULPSCOPE_TORCH} "${PROJECT_SOURCE_DIR}/build/torch/torch")
  set(${out} "${roots}" PARENT_SCOPE)
endfunction()

function(_ulpscope_find_torch)
  foreach(given IN ITEMS "${ULPSCOPE_TORCH}" "$ENV{ULPSCOPE_TORCH}")
    if(given AND NOT EXISTS "${given}/lib/libtorch_cpu.so")
      _ulpscope_torch_missing("ULPSCOPE_TORCH is ${given}, which has no lib/libtorch_cpu.so.")
    endif()
  endforeach()

  _ulpscope_torch_candidates(roots)
  find_library(torch_cpu torch_cpu PATHS ${roots} NO_DEFAULT_PATH NO_CACHE
               PATH_SUFFIXES lib "lib/${CMAKE_LIBRARY_ARCHITECTURE}")
  if(NOT torch_cpu)
    _ulpscope_torch_missing("LibTorch was not found.")
  endif()
  get_filename_component(library_dir "${torch_cpu}" DIRECTORY)
  get_filename_component(root "${library_dir}" DIRECTORY)
  if(NOT EXISTS "${root}/include/torch")
    get_filename_component(root "${root}" DIRECTORY)
  endif()

  set(include "${root}/include")
  set(api "${include}/torch/csrc/api/include")
  set(version_header "${include}/torch/headeronly/version.h")
  if(NOT EXISTS "${version_header}")
    set(version_header "${api}/torch/version.h")
  endif()
  if(NOT EXISTS "${version_header}")
    _ulpscope_torch_missing("${torch_cpu} has no headers beside it in ${include}.")
  endif()
  file(STRINGS "${version_header}" version REGEX "#define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
  list(TRANSFORM version REPLACE "[^0-9]" "")
  list(JOIN version "." version)

  set(ULPSCOPE_TORCH_ROOT "${root}" CACHE INTERNAL "LibTorch that is built against")
  set(ULPSCOPE_TORCH_LIBRARY_DIR "${library_dir}" CACHE INTERNAL "Folder of libtorch_cpu.so")
  set(ULPSCOPE_TORCH_FOUND_VERSION "${version}" CACHE INTERNAL "Its version")

  add_library(ulpscope_torch INTERFACE IMPORTED GLOBAL)
  # Flags, not paths: for a path CMake would add its folder to the run path.
  target_link_libraries(ulpscope_torch INTERFACE "-L${library_dir}" -ltorch_cpu -lc10)
  target_link_options(ulpscope_torch INTERFACE -Wl,--allow-shlib-undefined)
  target_include_directories(ulpscope_torch SYSTEM INTERFACE "${include}" "${api}")
  # Without NDEBUG, RecordFunction's headers differ from those that libtorch_cpu.so was built with.
  target_compile_definitions(ulpscope_torch INTERFACE NDEBUG)
  target_compile_features(ulpscope_torch INTERFACE cxx_std_20)
  message(STATUS "LibTorch ${version}: ${root}")
endfunction()

if(NOT TARGET ulpscope_torch)
  _ulpscope_find_torch()
endif()

# ulpscope_torch_program(<name> SOURCES <files>... [DEPENDS <targets>...])
# A LibTorch program as a user would build it, which finds LibTorch and what that needs at run time.
function(ulpscope_torch_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} ulpscope_torch ulpscope_warnings)
  # The work is done in libtorch_cpu.so; more optimization here costs 7 s a source and gains nothing.
  target_compile_options(${name} PRIVATE -O1)
  file(GLOB cuda_dirs "${ULPSCOPE_TORCH_ROOT}/../nvidia/*/lib")
  set_target_properties(${name} PROPERTIES BUILD_RPATH "${ULPSCOPE_TORCH_LIBRARY_DIR};${cuda_dirs}")
  foreach(dir IN LISTS cuda_dirs)
    target_link_options(${name} PRIVATE "LINKER:-rpath-link,${dir}")
  endforeach()
endfunction()
