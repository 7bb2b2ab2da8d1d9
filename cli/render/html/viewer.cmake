# The viewer of the HTML report: its modules and D3's, bundled into one script, and embedded with the page.
find_program(ULPSCOPE_ESBUILD esbuild)
find_path(ULPSCOPE_D3 d3-scale/package.json PATHS /usr/share/nodejs /usr/lib/nodejs NO_DEFAULT_PATH)
if(NOT ULPSCOPE_ESBUILD)
  message(FATAL_ERROR "esbuild, which bundles the HTML report's viewer, was not found: run `bash cli/setup.sh`.")
endif()
if(NOT ULPSCOPE_D3)
  message(FATAL_ERROR "D3's modules, which the HTML report's viewer uses, were not found: run `bash cli/setup.sh`, or "
                      "name their folder with -DULPSCOPE_D3=/path/to/node_modules.")
endif()

file(GLOB viewer_sources CONFIGURE_DEPENDS
     ${CMAKE_CURRENT_LIST_DIR}/*.js ${CMAKE_CURRENT_LIST_DIR}/*.css)
set(script ${CMAKE_CURRENT_BINARY_DIR}/viewer.js)
set(style ${CMAKE_CURRENT_BINARY_DIR}/viewer.css)
set(html_page ${CMAKE_CURRENT_BINARY_DIR}/html_page.cpp)
set(bundle ${CMAKE_COMMAND} -E env NODE_PATH=${ULPSCOPE_D3}
           ${ULPSCOPE_ESBUILD} --bundle --minify --target=es2020 --log-level=warning)
add_custom_command(
  OUTPUT ${html_page}
  COMMAND ${bundle} --format=iife ${CMAKE_CURRENT_LIST_DIR}/main.js --outfile=${script}
  COMMAND ${bundle} ${CMAKE_CURRENT_LIST_DIR}/style.css --outfile=${style}
  COMMAND ${CMAKE_COMMAND} -DPAGE=${CMAKE_CURRENT_LIST_DIR}/page.html -DSCRIPT=${script} -DSTYLE=${style}
          -DLICENSES=${CMAKE_CURRENT_LIST_DIR}/LICENSES.txt -DOUTPUT=${html_page}
          -P ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
  DEPENDS ${viewer_sources} ${CMAKE_CURRENT_LIST_DIR}/page.html ${CMAKE_CURRENT_LIST_DIR}/LICENSES.txt
          ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
  VERBATIM)
target_sources(ulpscope_render PRIVATE ${html_page})
install(FILES ${CMAKE_CURRENT_LIST_DIR}/LICENSES.txt DESTINATION ${CMAKE_INSTALL_DOCDIR}
        RENAME LICENSES.html-report.txt)
