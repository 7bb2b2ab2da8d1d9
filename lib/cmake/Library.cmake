# ulpscope_library(<name> SOURCES <files>... [DEPENDS <public>...] [PRIVATE_DEPENDS <private>...])
# A static library ulpscope::<name>; its folder's headers are included as "<name>/file.hpp".
function(ulpscope_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS")
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
  set_target_properties(ulpscope_${name} PROPERTIES
    EXPORT_NAME ${name} CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# ulpscope_unit_test(<name> SOURCES <files>... [DEPENDS <targets>...])
# One doctest program, one ctest entry per test case, labelled "unit".
function(ulpscope_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  add_executable(${name} ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/tests/support/doctest_main.cpp)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/lib ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} ulpscope_warnings ulpscope_sanitizers
                                        doctest::doctest)
  doctest_discover_tests(${name} TEST_PREFIX "${name}." PROPERTIES LABELS unit)
endfunction()
