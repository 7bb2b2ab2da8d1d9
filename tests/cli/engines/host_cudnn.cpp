#include "tests/support/host_engines.hpp"

const ulpscope::device::EngineFunctions* ulpscope_cudnn_functions(std::uint32_t version) {
  const ulpscope::device::EngineFunctions& engines = ulpscope::test::host_engines();
  return version == engines.version ? &engines : nullptr;
}
