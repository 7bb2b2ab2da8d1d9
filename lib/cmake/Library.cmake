# ulpscope_unity(<target>)
# Headers take most of the time of our sources: twelve of them are compiled as one if ULPSCOPE_UNITY is set.
function(ulpscope_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${ULPSCOPE_UNITY} UNITY_BUILD_BATCH_SIZE 12)
endfunction()

# ulpscope_library(<name> [READS_NO_BYTES] SOURCES <files>... [DEPENDS <public>...] [PRIVATE_DEPENDS <private>...])
# A static library ulpscope::<name>; its folder's headers are included as "<name>/file.hpp". READS_NO_BYTES: others
# have read what it works on, so that it gets ulpscope_light_sanitizers.
function(ulpscope_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "READS_NO_BYTES" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS")
  add_library(ulpscope_${name} STATIC ${arg_SOURCES})
  add_library(ulpscope::${name} ALIAS ulpscope_${name})
  target_include_directories(ulpscope_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/lib/include>
           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/lib)
  target_link_libraries(ulpscope_${name}
    PUBLIC ${arg_DEPENDS}
    PRIVATE $<BUILD_INTERFACE:ulpscope_warnings> $<BUILD_INTERFACE:ulpscope_sanitizers>
            ${arg_PRIVATE_DEPENDS})
  if(arg_READS_NO_BYTES)
    target_link_libraries(ulpscope_${name} PRIVATE $<BUILD_INTERFACE:ulpscope_light_sanitizers>)
  endif()
  set_target_properties(ulpscope_${name} PROPERTIES
    EXPORT_NAME ${name} CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  ulpscope_unity(ulpscope_${name})
endfunction()

# ulpscope_unit_test(<name> [EVERYWHERE] SOURCES <files>... [DEPENDS <targets>...])
# One doctest program, one ctest entry per test case, labeled "unit". EVERYWHERE: its subject differs
# between configurations, so that it is part of each. The others are compiled several at a time if ULPSCOPE_UNITY is
# set, not optimized, which would take most of their time to compile, and not part of a configuration without
# ULPSCOPE_UNIT_TESTS.
function(ulpscope_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "EVERYWHERE" "" "SOURCES;DEPENDS")
  if(NOT TARGET doctest_main)
    add_library(doctest_main OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/support/doctest_main.cpp)
    target_link_libraries(doctest_main PRIVATE doctest::doctest ulpscope_sanitizers)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/lib ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE DOCTEST_CONFIG_VOID_CAST_EXPRESSIONS)
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} ulpscope_warnings ulpscope_sanitizers
                                        ulpscope_light_sanitizers doctest::doctest doctest_main)
  if(NOT arg_EVERYWHERE)
    ulpscope_unity(${name})
    target_compile_options(${name} PRIVATE -O0)
    if(NOT ULPSCOPE_UNIT_TESTS)
      set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
      return()
    endif()
  endif()
  doctest_discover_tests(${name} TEST_PREFIX "${name}." PROPERTIES LABELS unit)
endfunction()
