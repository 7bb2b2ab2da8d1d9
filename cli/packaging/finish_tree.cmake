# Run by cpack on what it has installed (CPACK_TEMPORARY_DIRECTORY), before packages are made of it.
set(tree ${CPACK_TEMPORARY_DIRECTORY})

# LibTorch of the machine that built it says nothing where the package is installed.
file(GLOB_RECURSE replayers ${tree}/*/ulpscope-replay-*)
foreach(replayer IN LISTS replayers)
  file(RPATH_SET FILE ${replayer} NEW_RPATH "")
endforeach()

if(CPACK_GENERATOR STREQUAL "DEB")
  include(${CMAKE_CURRENT_LIST_DIR}/debian/finish_tree.cmake)
endif()
