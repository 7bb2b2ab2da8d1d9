# `cmake --install` begins with this script: it copies nothing unless all that it would copy is built.
set(_ulpscope_refuse_unbuilt ${PROJECT_BINARY_DIR}/refuse_unbuilt.cmake)
install(SCRIPT ${_ulpscope_refuse_unbuilt} ALL_COMPONENTS)

# ulpscope_refuse_unbuilt(<targets>... FILES <files>...)
# Writes the script for what is installed, and makes the target ulpscope_installed, which builds the targets.
function(ulpscope_refuse_unbuilt)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILES")
  set(files "")
  foreach(target IN LISTS arg_UNPARSED_ARGUMENTS)
    list(APPEND files $<TARGET_FILE:${target}>)
  endforeach()
  list(APPEND files ${arg_FILES})
  file(GENERATE OUTPUT ${_ulpscope_refuse_unbuilt} CONTENT "set(files [[${files}]])
foreach(file IN LISTS files)
  if(NOT EXISTS \"\${file}\")
    message(FATAL_ERROR \"Nothing is installed, because \${file} is not built: \"
                        \"run `cmake --build ${PROJECT_BINARY_DIR} --target ulpscope_installed` first.\")
  endif()
endforeach()
")
  add_custom_target(ulpscope_installed DEPENDS ${arg_UNPARSED_ARGUMENTS})
endfunction()
