# Fails if a C, C++ or JavaScript file is not as clang-format would have it.
file(GLOB_RECURSE files ${SOURCE}/lib/*.hpp ${SOURCE}/lib/*.cpp ${SOURCE}/cli/*.hpp
     ${SOURCE}/lib/*.cu ${SOURCE}/cli/*.cpp ${SOURCE}/cli/*.js ${SOURCE}/tests/*.hpp ${SOURCE}/tests/*.cpp)
execute_process(COMMAND ${CLANG_FORMAT} --dry-run -Werror ${files} RESULT_VARIABLE result
                ERROR_VARIABLE complaints)
if(result)
  message(FATAL_ERROR "run clang-format -i on these:\n${complaints}")
endif()
