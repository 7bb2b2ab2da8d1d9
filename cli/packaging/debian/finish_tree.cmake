# What Debian has in another place or form: ${tree} holds a folder for each package, by component.
set(shared runtime/usr/share)

# The license stands in every Debian system once, and `copyright` contains the notices.
file(GLOB texts ${tree}/${shared}/doc/ulpscope/*.txt)
file(REMOVE ${texts})

foreach(part IN ITEMS runtime/ulpscope dev/ulpscope-dev)
  cmake_path(GET part PARENT_PATH component)
  cmake_path(GET part FILENAME package)
  file(COPY ${CMAKE_CURRENT_LIST_DIR}/overrides/${package} DESTINATION ${tree}/${component}/usr/share/lintian/overrides)
  set(doc ${tree}/${component}/usr/share/doc/${package})
  file(COPY ${CPACK_ULPSCOPE_DOCUMENTS} DESTINATION ${doc})
  execute_process(COMMAND gzip -9n ${doc}/changelog COMMAND_ERROR_IS_FATAL ANY)
  file(RENAME ${doc}/changelog.gz ${doc}/changelog.Debian.gz)
endforeach()
execute_process(COMMAND gzip -9n ${tree}/${shared}/man/man1/ulpscope.1 COMMAND_ERROR_IS_FATAL ANY)

# Where Debian's zsh looks for completions of packages.
file(RENAME ${tree}/${shared}/zsh/site-functions ${tree}/${shared}/zsh/vendor-completions)

# dpkg-shlibdeps reads it and CPack removes it: under mpirun alone is libulpscope_mpi.so opened.
file(WRITE ${tree}/runtime/debian/shlibs.local "libmpi 40\n")
