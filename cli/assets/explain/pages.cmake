# The pages of `ulpscope explain`, one Markdown file a cause, in the order in which they are listed.
set(causes
  init rng-seed rng-shift rng-device rng-size recompute
  data-order data-content worker thread-rng epoch hash-order
  atomic duplicate-index ties algorithm backend library threads isa alignment flush-denormal tf32
  reduced-precision
  dtype argument scale weights structure harmless-rewrite mode buffer-update
  uninitialised race alias external-write
  batch-size compiled gradient-accumulation backward-order collective resume skipped-step
  nan int-cast int32-index layout hardware observer unknown)
list(TRANSFORM causes PREPEND ${CMAKE_CURRENT_LIST_DIR}/ OUTPUT_VARIABLE pages)
list(TRANSFORM pages APPEND .md)
set(generated ${CMAKE_CURRENT_BINARY_DIR}/cause_pages.cpp)
add_custom_command(
  OUTPUT ${generated}
  COMMAND ${CMAKE_COMMAND} "-DCAUSES=${causes}" -DFOLDER=${CMAKE_CURRENT_LIST_DIR}
          -DOUTPUT=${generated} -P ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
  DEPENDS ${pages} ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
  VERBATIM)
target_sources(ulpscope_render PRIVATE ${generated})
