# Runs CLI with ARGS in WORK: the exit code must be EXIT, standard output the golden file's, and
# standard error the golden error file's where there is one, else empty. With ULPSCOPE_UPDATE_GOLDEN
# set in the environment the files become what was printed.
execute_process(COMMAND ${CLI} ${ARGS} WORKING_DIRECTORY ${WORK}
                RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors)
if(NOT code EQUAL EXIT)
  message(FATAL_ERROR "exit code ${code}, not ${EXIT}\n${output}${errors}")
endif()

function(check what text file)
  if(DEFINED ENV{ULPSCOPE_UPDATE_GOLDEN})
    if(text STREQUAL "")
      file(REMOVE ${file})
    else()
      file(WRITE ${file} "${text}")
    endif()
    return()
  endif()
  set(golden "")
  if(EXISTS ${file})
    file(READ ${file} golden)
  endif()
  if(NOT text STREQUAL golden)
    message(FATAL_ERROR "${what} is not ${file}:\n${text}\n--- expected:\n${golden}")
  endif()
endfunction()
check("standard output" "${output}" ${GOLDEN}.txt)
check("standard error" "${errors}" ${GOLDEN}.stderr.txt)
