# Fails if an object file defines a weak function or a unique symbol: the linker keeps one copy of
# those, and a program could run one that was compiled for a different processor.
string(REPLACE "|" ";" OBJECTS "${OBJECTS}")
foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND ${NM} --defined-only ${object} OUTPUT_VARIABLE symbols RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${NM} cannot read ${object}")
  endif()
  string(REGEX MATCHALL "[^\n]* [WwuV] [^\n]*" shared "${symbols}")
  list(FILTER shared EXCLUDE REGEX "DW\\.ref\\.")
  if(shared)
    message(FATAL_ERROR "${object} shares code with other objects: ${shared}")
  endif()
endforeach()
