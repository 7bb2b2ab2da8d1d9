# What `cmake --install` leaves under its prefix:
#   bin/ulpscope
#   lib/libulpscope.so, include/ulpscope      ulpscope::capture, for LibTorch programs
#   lib/libulpscope_*.a                       ulpscope::compare, for programs that read dumps, and
#                                             ulpscope::arrays, for those that compute with values
#   lib/ulpscope                              what enters recorded programs: the preloaded object and a
#                                             capture library per LibTorch version; several builds may
#                                             install theirs under one prefix; beside them the
#                                             programs that replay ops, what `compare` opens
#                                             under mpirun, kernels for GPUs, and the hooks for
#                                             Python programs
#   lib/cmake/ulpscope, lib/pkgconfig         find_package(ulpscope); pkg-config ulpscope
#   share/ulpscope/*.schema.json              what the JSON of `compare`, `check`, `replay`, `bisect` and
#                                             `inspect` looks like
# Components: dev is what C++ programs are built with, runtime all else.
include(CMakePackageConfigHelpers)

set(inside ${CMAKE_INSTALL_LIBDIR}/ulpscope)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/ulpscope)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/lib/include/ulpscope DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/lib/python/hooks/ DESTINATION ${inside}/python FILES_MATCHING PATTERN "*.py")

# What enters recorded programs, replays ops or is opened by name, as far as this configuration builds it.
set(within ulpscope_preload)
foreach(target ulpscope_capture ulpscope_replay_program ulpscope_device_cuda ulpscope_cudnn ulpscope_cupti ulpscope_mpi)
  if(TARGET ${target})
    list(APPEND within ${target})
  endif()
endforeach()
install(TARGETS ${within} LIBRARY DESTINATION ${inside} RUNTIME DESTINATION ${inside})

set(ULPSCOPE_OTHER_BUILDS "" CACHE STRING "Builds for other LibTorches: what is specific to those is installed too")
foreach(build IN LISTS ULPSCOPE_OTHER_BUILDS)
  file(GLOB libraries ${build}/lib/libulpscope_capture-*.so)
  file(GLOB programs ${build}/lib/ulpscope-replay-*)
  install(FILES ${libraries} DESTINATION ${inside})
  install(PROGRAMS ${programs} DESTINATION ${inside})
  # As CMake does of targets alone.
  foreach(binary IN LISTS libraries programs)
    cmake_path(GET binary FILENAME name)
    install(CODE "if(CMAKE_INSTALL_DO_STRIP)
      execute_process(COMMAND [[${CMAKE_STRIP}]] \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${inside}/${name}\"
                      COMMAND_ERROR_IS_FATAL ANY)
    endif()")
  endforeach()
endforeach()

install(TARGETS ulpscope_program EXPORT ulpscopeCaptureTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_COMPONENT dev)
# Opening dumps and files of tensors and comparing them are one for those who use them.
target_link_libraries(ulpscope_compare INTERFACE $<INSTALL_INTERFACE:ulpscope::dump>
                                                 $<INSTALL_INTERFACE:ulpscope::tensors>
                                                 $<INSTALL_INTERFACE:ulpscope::values>)
set(archives ulpscope_core ulpscope_facts ulpscope_dump ulpscope_tensors ulpscope_values ulpscope_compare)
install(TARGETS ${archives} EXPORT ulpscopeCompareTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
# Apart from those, because it is the only one that needs xtensor.
install(TARGETS ulpscope_arrays EXPORT ulpscopeArraysTargets)
foreach(component Capture Compare Arrays)
  install(EXPORT ulpscope${component}Targets NAMESPACE ulpscope:: DESTINATION ${package} COMPONENT dev)
endforeach()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/ulpscopeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/ulpscopeConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ulpscopeConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ulpscopeConfig.cmake ${PROJECT_BINARY_DIR}/ulpscopeConfigVersion.cmake
        DESTINATION ${package} COMPONENT dev)

set(pkgconfig ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
cmake_path(SET prefix_from_pkgconfig ${CMAKE_INSTALL_PREFIX})
cmake_path(RELATIVE_PATH prefix_from_pkgconfig BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${pkgconfig})
configure_file(${CMAKE_CURRENT_LIST_DIR}/ulpscope.pc.in ${PROJECT_BINARY_DIR}/ulpscope.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ulpscope.pc DESTINATION ${pkgconfig} COMPONENT dev)

ulpscope_refuse_unbuilt(ulpscope ulpscope_program ${within} ${archives} FILES ${PROJECT_BINARY_DIR}/cli/ulpscope.1)
add_dependencies(ulpscope_installed manual)
