# What `cpack` makes of a build:
#   ulpscope_*.deb        the command, and what enters recorded programs and replays ops
#   ulpscope-dev_*.deb    what C++ programs are built with
#   ulpscope-*.tar.gz     both, below one folder that can stand anywhere
set(packaging ${CMAKE_CURRENT_LIST_DIR})
set(packages ${PROJECT_BINARY_DIR}/packages)

set(CPACK_PACKAGE_CONTACT "Ulpscope developers <developers@ulpscope.invalid>" CACHE STRING
    "Whom packages name as their maintainer")

# Copyright notices: of Ulpscope, of what is compiled into it, and of what the HTML report's viewer contains.
file(READ ${PROJECT_SOURCE_DIR}/cli/render/html/LICENSES.txt viewer_licenses)
configure_file(${packaging}/copyright.in ${packages}/copyright @ONLY)
configure_file(${packaging}/debian/changelog.in ${packages}/debian/changelog @ONLY)
configure_file(${packaging}/debian/shlibs.in ${packages}/debian/shlibs @ONLY)
configure_file(${packaging}/debian/prerm.in ${packages}/debian/prerm @ONLY)
install(FILES ${packages}/copyright ${packaging}/Apache-2.0.txt DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME ulpscope)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "finds where two runs of a PyTorch model diverge, and why")
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${packaging}/finish_tree.cmake)
set(CPACK_ULPSCOPE_DOCUMENTS ${packages}/copyright ${packages}/debian/changelog)
set(CPACK_COMPONENTS_ALL runtime dev)

set(CPACK_PACKAGE_FILE_NAME ulpscope-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SOURCE ulpscope)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Libraries of the recorded program or its environment, not of a Debian package: found here, they are no dependency.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${ULPSCOPE_TORCH_LIBRARY_DIR})
foreach(library IN ITEMS "${ULPSCOPE_CUDNN_LIBRARY}" "${ULPSCOPE_CUPTI_LIBRARY}")
  if(library)
    cmake_path(GET library PARENT_PATH folder)
    list(APPEND CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${folder})
  endif()
endforeach()

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ulpscope)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION devel)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
"Records every operation of an unmodified LibTorch or PyTorch program with its
inputs and outputs, compares two recordings, and names the first operation
where they diverge, how far apart the results are, and the likely cause.
.
The capture libraries are loaded into the recorded program and use its own
LibTorch, which this package therefore does not depend on.")
# `compare` opens MPI under mpirun alone, and runs rsvg-convert for `-o png=` alone.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "openmpi-bin, librsvg2-bin")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA
    ${packages}/debian/prerm ${packages}/debian/shlibs ${packaging}/debian/triggers)

set(CPACK_DEBIAN_DEV_PACKAGE_NAME ulpscope-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS libxtensor-dev)  # ulpscope::arrays alone
set(CPACK_COMPONENT_DEV_DESCRIPTION
"Headers, libraries, and files for CMake and pkg-config: for LibTorch programs
that record themselves (ulpscope::capture) and for programs that open and
compare recordings (ulpscope::compare).")
string(JOIN ", " CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
  "ulpscope (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})"
  libfmt-dev libhdf5-dev libprotobuf-dev libzip-dev nlohmann-json3-dev pkg-config)

include(CPack)
