# Fails unless two runs of PROGRAM with FLAGS print the same, down to the final digest.
foreach(run first second)
  execute_process(COMMAND ${PROGRAM} ${FLAGS}
    OUTPUT_VARIABLE ${run} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(NOT first MATCHES "\nfinal digest [0-9a-f]+\n$")
  message(FATAL_ERROR "No final digest in the output:\n${first}")
endif()
if(NOT first STREQUAL second)
  message(FATAL_ERROR "Two runs differ:\n${first}\n${second}")
endif()
