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
#   lib/cmake/ulpscope                        find_package(ulpscope)
#   share/ulpscope/report.schema.json         what the JSON of `compare` looks like
include(CMakePackageConfigHelpers)

set(inside ${CMAKE_INSTALL_LIBDIR}/ulpscope)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/ulpscope)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/lib/include/ulpscope DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS ulpscope_preload LIBRARY DESTINATION ${inside})
if(TARGET ulpscope_capture)
  install(TARGETS ulpscope_capture LIBRARY DESTINATION ${inside})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/lib/python/hooks/ DESTINATION ${inside}/python FILES_MATCHING PATTERN "*.py")

if(TARGET ulpscope_replay_program)
  install(TARGETS ulpscope_replay_program RUNTIME DESTINATION ${inside})
endif()

set(ULPSCOPE_OTHER_BUILDS "" CACHE STRING "Builds for other LibTorches: what is specific to those is installed too")
foreach(build IN LISTS ULPSCOPE_OTHER_BUILDS)
  file(GLOB binaries ${build}/lib/libulpscope_capture-*.so ${build}/lib/ulpscope-replay-*)
  install(PROGRAMS ${binaries} DESTINATION ${inside})
endforeach()

foreach(library ulpscope_device_cuda ulpscope_cudnn ulpscope_cupti)
  if(TARGET ${library})
    install(TARGETS ${library} LIBRARY DESTINATION ${inside})
  endif()
endforeach()
if(TARGET ulpscope_mpi)
  install(TARGETS ulpscope_mpi LIBRARY DESTINATION ${inside})
endif()

install(TARGETS ulpscope_program EXPORT ulpscopeCaptureTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Opening dumps and files of tensors and comparing them are one for those who use them.
target_link_libraries(ulpscope_compare INTERFACE $<INSTALL_INTERFACE:ulpscope::dump>
                                                 $<INSTALL_INTERFACE:ulpscope::tensors>
                                                 $<INSTALL_INTERFACE:ulpscope::values>)
install(TARGETS ulpscope_core ulpscope_facts ulpscope_dump ulpscope_tensors ulpscope_values ulpscope_compare
        EXPORT ulpscopeCompareTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Apart from those, because it is the only one that needs xtensor.
install(TARGETS ulpscope_arrays EXPORT ulpscopeArraysTargets)
foreach(component Capture Compare Arrays)
  install(EXPORT ulpscope${component}Targets NAMESPACE ulpscope:: DESTINATION ${package})
endforeach()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/ulpscopeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/ulpscopeConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ulpscopeConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ulpscopeConfig.cmake ${PROJECT_BINARY_DIR}/ulpscopeConfigVersion.cmake
        DESTINATION ${package})
