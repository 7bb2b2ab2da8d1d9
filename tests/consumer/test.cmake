# The folder is a separate project: it is built by the test, not with this one.
set(options "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}" "-DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE}"
            "-DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}")
if(ULPSCOPE_WITH_TORCH AND EXISTS ${ULPSCOPE_TORCH_ROOT}/share/cmake/Torch)
  # A machine without CUDA.
  list(APPEND options "-DTorch_DIR=${ULPSCOPE_TORCH_ROOT}/share/cmake/Torch" "-DCMAKE_DISABLE_FIND_PACKAGE_CUDA=ON")
endif()
if(NOT ULPSCOPE_SANITIZE)
  add_test(NAME consumer.installed
    COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/consumer/consumer_test.sh ${PROJECT_BINARY_DIR} ${options})
  set_tests_properties(consumer.installed PROPERTIES LABELS consumer TIMEOUT 900 COST 40)
endif()
