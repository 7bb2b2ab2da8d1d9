# Fails unless PROGRAM ends with the same parameters whether its six steps are one run or two, the
# second of which resumes from the checkpoint in FILE. Without the optimizer's state it must not.
function(run out)
  execute_process(COMMAND ${PROGRAM} ${ARGN} OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "final digest [0-9a-f]+\n$" digest "${printed}")
  set(${out} "${digest}" PARENT_SCOPE)
endfunction()

run(uninterrupted --steps 6)
run(interrupted --steps 3 --save ${FILE})
run(resumed --steps 6 --resume ${FILE})
run(forgetful --steps 6 --resume ${FILE} --without-optimizer)
if(uninterrupted STREQUAL "" OR NOT uninterrupted STREQUAL resumed)
  message(FATAL_ERROR "Uninterrupted: ${uninterrupted}\nresumed: ${resumed}")
endif()
if(resumed STREQUAL interrupted OR resumed STREQUAL forgetful)
  message(FATAL_ERROR "The resumed run made no steps, or its optimizer's state means nothing.")
endif()
